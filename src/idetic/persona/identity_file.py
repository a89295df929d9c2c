"""The file of an identity: replaced in one step, with every version kept beside it.

`agent.yaml` has its past in `agent.versions/`, one file per version that it replaced. A change
rewrites `instructions` and `version` where they stand, so that an author's comments survive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent

from idetic.persona.identity import KEYS, Identity, identity_text, refuse_untunable
from idetic.persona.persona_errors import IdentityChanged, IdentityError, IdentityInvalid
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
        listed = list(self.folder.iterdir()) if self.folder.is_dir() else []
        names = [_VERSION.match(each.name) for each in listed]
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
                which = "earlier version" if wanted is None else f"version {wanted}"
                raise IdentityError(
                    f"There is no {which} to go back to.",
                    remedy=f"Versions kept: {', '.join(map(str, past)) or 'none'}.",
                )
            then = Identity.load(self._kept(wanted))
            return self._write(now, then.instructions)

    def _write(self, old: Identity, instructions: str) -> Identity:
        """Write the next version into the file, after keeping the one before."""
        new, text = old.tuned(instructions), identity_text(self.path)
        # The past first: a crash between the two leaves a copy too many, never one too few.
        mode = self.path.stat().st_mode & 0o777
        write_durably(self._kept(old.version), text, mode)
        write_durably(self.path, rewritten(text, new), mode)
        return new

    def _kept(self, version: int) -> Path:
        """Where a version is kept; with leading zeros, so that names sort as versions do."""
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


def dumped(identity: Identity) -> str:
    """An identity as YAML, without comments."""
    heuristics = {key: getattr(identity, key).model_dump(mode="json") for key in _HEURISTICS}
    data = {key: heuristics.get(key, getattr(identity, key)) for key in KEYS}
    return "".join(_yaml_line(key, value) for key, value in data.items() if value is not None)


_HEURISTICS = ("actor", "subconscious")


def rewritten(text: str, new: Identity) -> str:
    """The file's text with the new instructions and version, everything else as it stands."""
    # PyYAML is a tenth of what importing Idetic costs.
    import yaml  # noqa: PLC0415

    changed = text
    try:
        for key in ("instructions", "version"):
            nodes = yaml.compose(changed, Loader=yaml.SafeLoader).value
            places = {name.value: (name.start_mark, value.end_mark) for name, value in nodes}
            line = _yaml_line(key, getattr(new, key))
            if key not in places:
                changed = changed.rstrip("\n") + "\n" + line
                continue
            start, end = (mark.index for mark in places[key])
            # A block ends after its line break, everything else before it.
            line = line if changed[end - 1] == "\n" else line.rstrip("\n")
            changed = changed[:start] + line + changed[end:]
        if Identity.parse(changed) == new:
            return changed
    except (IdentityInvalid, yaml.YAMLError):
        pass  # an author may write what this does not foresee; then the file is written anew
    return dumped(new)


def _yaml_line(key: str, value: object) -> str:
    """One key and its value. Text of several lines is a block, as people write it."""
    if isinstance(value, str) and "\n" in value:
        lines = value.removesuffix("\n").split("\n")
        # A block keeps no blanks at its ends, and nothing that YAML takes for a line break.
        plain = all(line.isprintable() and (not line or line.strip()) for line in lines)
        if plain and lines[0][:1].strip() and lines[-1]:
            mark = "|" if value.endswith("\n") else "|-"
            return f"{key}: {mark}\n" + indent("\n".join(lines), "  ") + "\n"
    # JSON is YAML, but for the characters that YAML takes for line breaks or does not print.
    quoted = json.dumps(value, ensure_ascii=False)
    escaped = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)
    return f"{key}: {escaped}\n"
