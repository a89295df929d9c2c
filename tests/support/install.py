"""Install the lock file into an environment: `python tests/support/install.py .venv/bin/python`.

By uv, which takes seconds where pip takes minutes: the one on the path, or else the lock's own,
which pip installs first, by hash. If uv cannot, pip installs everything. Before the environment is
there, nothing but the standard library can be imported here.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
# The lock names every package. With dependencies pip would resolve extras anew, and refuse the
# lock as soon as one of them has a newer release (seen with psycopg[pool]).
LOCKED = ("--no-deps", "--require-hashes", "-r")
# Longer than the slowest network has taken.
SECONDS = 3_600
OURS = ("--no-deps", "--no-build-isolation", "-e", str(ROOT))

# A setting of pip (there with dashes), what uv reads it from, and what stands between two values.
_SETTINGS = {
    "index_url": ("UV_DEFAULT_INDEX", " "),
    "extra_index_url": ("UV_INDEX", " "),
    "find_links": ("UV_FIND_LINKS", ","),
    "trusted_host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client_cert": ("SSL_CLIENT_CERT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "default_timeout": ("UV_HTTP_TIMEOUT", " "),
    "proxy": ("ALL_PROXY", " "),
}
_LINE = re.compile(r"(global|install|:env:)\.([\w-]+)=(.+)")


def pip_settings(listed: str) -> dict[str, str]:
    """What `pip config list` printed; a command's settings overrule all, the environment's both."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        if match := _LINE.fullmatch(line):
            section, name, value = match.groups()
            found[section][name.replace("-", "_")] = str(ast.literal_eval(value))
    return found["global"] | found["install"] | found[":env:"]


def uv_environment(settings: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The environment in which uv looks where pip would look; what is given for uv stays."""
    read = {
        variable: between.join(settings[name].split())
        for name, (variable, between) in _SETTINGS.items()
        if settings.get(name)
    }
    if settings.get("no_index", "").lower() in {"1", "true", "yes", "on"}:
        read["UV_NO_INDEX"] = "1"
    # As pip does: the lock's hash says what a package is, wherever it comes from.
    return read | {"UV_INDEX_STRATEGY": "unsafe-best-match"} | dict(given)


def own_uv(python: Path, pip: list[str]) -> Path | None:
    """The lock's uv, installed by pip into the environment; None where that fails."""
    pinned = re.search(r"^uv==.*?(?=^\S|\Z)", LOCK.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    part = python.parent.parent / "uv.lock"
    part.write_text(pinned[0] if pinned else "", "utf-8")
    done = subprocess.run(
        [*pip, "install", "--quiet", *LOCKED, str(part)], check=False, timeout=SECONDS
    )
    uv = python.parent / "uv"
    return uv if done.returncode == 0 and uv.exists() else None


def by_uv(python: Path, pip: list[str]) -> bool:
    """Whether uv installed all of it."""
    found = shutil.which("uv")
    uv = Path(found) if found else own_uv(python, pip)
    if uv is None:
        return False
    listed = subprocess.run(
        [*pip, "config", "list"], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    environment = uv_environment(pip_settings(listed.stdout), os.environ)
    install = [str(uv), "pip", "install", "--quiet", "--python", str(python)]
    return all(
        subprocess.run([*install, *what], env=environment, check=False, timeout=SECONDS).returncode
        == 0
        for what in ((*LOCKED, str(LOCK)), OURS)
    )


def main(python: Path) -> int:
    """Install, by uv or else by pip."""
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    if by_uv(python, pip):
        return 0
    print("uv did not install the packages; pip does, in some minutes.", file=sys.stderr)
    for what in ((*LOCKED, str(LOCK)), OURS):
        done = subprocess.run([*pip, "install", "--quiet", *what], check=False, timeout=SECONDS)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
