"""An identity in its file: replaced in one step, with every version kept beside it.

`agent.yaml` has its past in `agent.versions/`, one file per version that it replaced. A change
rewrites `instructions` and `version` where they stand, so that an author's comments survive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from idetic.persona.errors import IdentityChanged, IdentityError
from idetic.persona.identity import Identity, refuse_untunable
from idetic.persona.identity_text import text_of
from idetic.store.embedded.files import FileLock, write_durably

_VERSION = re.compile(r"(\d{6})\.yaml\Z")


class IdentityFile:
    """One identity file and its versions."""

    def __init__(self, path: str | Path):
        # Resolved: a link is kept, and what it leads to is replaced.
        self.path = Path(path).resolve()
        self.folder = self.path.with_name(self.path.stem + ".versions")

    def read(self) -> Identity:
        """The identity as the file has it now."""
        return Identity.load(self.path)

    def replace(self, old: Identity, new: Identity) -> Identity:
        """Write the next version, if the file still is the one that was read.

        Raises `NotTunable` for anything but other instructions, `IdentityChanged` if someone
        else was faster; the file is then as it was.
        """
        refuse_untunable(old, new)
        with self._locked():
            if self.read() != old:
                raise IdentityChanged
            return self._write(old, new.instructions)

    def versions(self) -> list[int]:
        """The versions that can be gone back to, oldest first."""
        names = [_VERSION.match(each.name) for each in _listed(self.folder)]
        return sorted(int(name[1]) for name in names if name)

    def roll_back(self, to: int | None = None) -> Identity:
        """Take back the instructions of an earlier version, by default the one before.

        It becomes a new version: what happened in between stays on record.
        """
        with self._locked():
            now, past = self.read(), self.versions()
            earlier = [version for version in past if version < now.version]
            wanted = to if to is not None else max(earlier, default=None)
            if wanted is None or wanted not in past:
                known = ", ".join(map(str, past)) or "none"
                raise IdentityError(
                    f"There is no version {wanted} to go back to."
                    if wanted is not None
                    else "There is no earlier version to go back to.",
                    remedy=f"Versions kept: {known}.",
                )
            then = Identity.load(self._kept(wanted))
            return self._write(now, then.instructions)

    def _write(self, old: Identity, instructions: str) -> Identity:
        # PyYAML is a tenth of what importing Idetic costs.
        from idetic.persona.identity_yaml import rewritten  # noqa: PLC0415

        new, text = old.tuned(instructions), text_of(self.path)
        # The past first: a crash between the two leaves a copy too many, never one too few.
        mode = self.path.stat().st_mode & 0o777
        write_durably(self._kept(old.version), text, mode)
        write_durably(self.path, rewritten(text, new), mode)
        return new

    def _kept(self, version: int) -> Path:
        return self.folder / f"{version:06}.yaml"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One change at a time, also between processes."""
        if not self.path.is_file():
            raise IdentityError(f"There is no file `{self.path}`.", remedy="Check the path.")
        try:
            self.folder.mkdir(exist_ok=True)
            # Not on the file itself: it is replaced, and its lock would go with it.
            lock = FileLock(self.folder / ".lock")
            try:
                if not lock.try_alone():
                    raise IdentityChanged("Someone else is changing the identity at this moment.")
                yield
            finally:
                lock.close()
        except OSError as error:
            raise IdentityError(
                f"The identity cannot be written to `{self.path}`: {error.strerror}.",
                remedy="Check that you may write there and that the disk has room.",
            ) from None


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
