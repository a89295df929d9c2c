"""An environment of somebody who has nothing of ours yet, and commands typed in it.

Two forms. The short one, for every test run, sees the packages that are installed here, so that
only what we ship is new. The long one (`IDETIC_LONG=1`, by `make stranger` and `make wheel-check`)
installs everything from the package registry, as a stranger does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from idetic.store import embedded

LONG = bool(os.environ.get("IDETIC_LONG"))
# What would let the tree that is tested shine through.
_OURS = ("PYTHONPATH", "VIRTUAL_ENV", "IDETIC_DSN", "IDETIC_HOME", "IDETIC_LONG")


@contextmanager
def new_place() -> Iterator[Path]:
    """A directory with a `home` for an embedded server, which is stopped at the end.

    Not tmp_path: pytest makes that 0700, and as root the server runs as another user.
    """
    with tempfile.TemporaryDirectory(prefix="idetic-stranger-") as name:
        path = Path(name)
        path.chmod(0o755)
        try:
            yield path
        finally:
            embedded.stop(path / "home")


@dataclass(frozen=True)
class Environment:
    """A virtual environment without Idetic, and where its embedded server lives."""

    path: Path
    home: Path

    @classmethod
    def make(cls, path: Path, home: Path, *, empty: bool = LONG) -> Environment:
        """Make one: empty, or with a view of the packages installed here but not of Idetic."""
        venv.create(path, with_pip=empty, symlinks=True)
        made = cls(path, home)
        if not empty:
            # One directory, named in a .pth: its own .pth files, the editable install of Idetic
            # among them, are not read.
            (made.packages / "installed-here.pth").write_text(sysconfig.get_path("purelib"))
        return made

    @property
    def packages(self) -> Path:
        """Where packages are installed."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.path / "lib" / version / "site-packages"

    def install(self, *arguments: str) -> None:
        """`pip install …` into it."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.path / "bin" / "python")]
        self.run(*pip, "install", "--quiet", "--disable-pip-version-check", *arguments)

    def run(self, *command: str, cwd: Path | None = None, stdin: str = "") -> str:
        """Run a command as if the environment were activated; what it printed."""
        done = subprocess.run(
            command,
            cwd=cwd or self.path,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=900,
            env=self.variables(),
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def variables(self, *, activated: bool = True) -> dict[str, str]:
        """The environment variables around a command."""
        found = {name: value for name, value in os.environ.items() if name not in _OURS}
        if activated:
            found["PATH"] = f"{self.path / 'bin'}{os.pathsep}{found['PATH']}"
        # Pages show what a terminal shows that knows more letters than some locales do.
        return found | {"IDETIC_HOME": str(self.home), "COLUMNS": "200", "PYTHONUTF8": "1"}
