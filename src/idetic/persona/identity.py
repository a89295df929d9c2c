"""Identity of an agent: a name, instructions it may tune, and heuristics it may not; and its file.

It is read from a YAML file or a mapping. Heuristics that it does not give are those of the
shipped spec `persona_agent`, key by key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Self

from idetic.persona.events import Persona
from idetic.persona.persona_errors import (
    IdentityChanged,
    IdentityError,
    IdentityInvalid,
    NotTunable,
)
from idetic.spec.loader import load as load_spec
from idetic.spec.plain import MAX_BYTES, plain, storable
from idetic.spec.primitives import FuzzyHeuristics
from idetic.spec.problems import Finding, SpecInvalid, SpecProblem, path_of
from idetic.spec.shape import fit, nearest
from idetic.store.embedded.files import FileLock, write_durably

if TYPE_CHECKING:
    from idetic.spec.document import YamlDocument
TUNABLE = ("instructions",)
"""What `learn` may change; the version follows from it."""
INSTRUCTIONS_MAX = 8_000
SECTION = "Identity"

_NAME_MAX = 200
_VERSION = re.compile(r"(\d{6})\.yaml\Z")
# Two underscores in a row separate the parts of a collection's name.
_AGENT_ID = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*\Z")


@lru_cache(maxsize=2)
def default_heuristics(persona: Persona) -> FuzzyHeuristics:
    """A persona's heuristics as the shipped spec has them."""
    short_term = load_spec("persona_agent").retrieval.short_term
    if short_term is None or (heuristics := short_term.of(persona)) is None:
        raise IdentityError("The shipped spec `persona_agent` declares no short-term memory.")
    return heuristics


@dataclass(frozen=True, slots=True)
class Identity:
    """One agent's identity; its values are checked when it is made."""

    agent_id: str
    name: str = ""
    instructions: str = field(default="", repr=False)
    actor: FuzzyHeuristics = field(default_factory=lambda: default_heuristics(Persona.ACTOR))
    subconscious: FuzzyHeuristics = field(
        default_factory=lambda: default_heuristics(Persona.SUBCONSCIOUS)
    )
    model: str | None = None
    prompt_tokens: int = 4_000
    version: int = 1

    def __post_init__(self) -> None:
        findings = _problems({key: getattr(self, key) for key in KEYS})
        if findings:
            raise _invalid(findings, "The identity", None)

    def heuristics(self, persona: Persona) -> FuzzyHeuristics:
        """How a persona's short-term memory is searched."""
        return self.actor if persona is Persona.ACTOR else self.subconscious

    def tuned(self, instructions: str) -> Identity:
        """The next version, with other instructions; nothing else can be tuned."""
        return replace(self, instructions=instructions, version=self.version + 1)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The identity of a YAML file, or an error with every problem it has."""
        return cls.parse(identity_text(Path(path)), str(path))

    @classmethod
    def parse(cls, text: str, source: str = "The identity") -> Self:
        """The identity of a YAML text; problems name their lines."""
        # PyYAML is a tenth of what importing Idetic costs.
        from idetic.spec.document import read  # noqa: PLC0415

        if not text.strip():
            remedy = "Begin with `agent_id: my-agent` on a line of its own."
            raise _invalid([Finding((), "The file is empty.", remedy)], source, None)
        try:
            document = read(text, source)
        except SpecInvalid as error:
            remedy = "Correct the YAML there; docs/reference/identity.md shows a whole file."
            problems = [replace(p, primitive=SECTION, remedy=remedy) for p in error.problems]
            raise IdentityInvalid(problems, source=source) from None
        return cls.of(document.data, source, document)

    @classmethod
    def of(
        cls,
        data: Mapping[str, Any],
        source: str = "The identity",
        document: YamlDocument | None = None,
    ) -> Self:
        """The identity in a mapping; with a `document`, problems name their lines."""
        readable, unreadable = plain(data)
        findings = [*(document.findings if document else ()), *unreadable, *_problems(readable)]
        heuristics: dict[str, FuzzyHeuristics] = {}
        for persona in Persona:
            fitted = _heuristics(readable.get(persona), persona)
            if isinstance(fitted, FuzzyHeuristics):
                heuristics[persona] = fitted
            else:
                findings += fitted
        if findings:
            raise _invalid(findings, source, document)
        return cls(**{**readable, **heuristics})


KEYS = tuple(Identity.__dataclass_fields__)
"""The keys of an identity, in the order in which it is written."""


def refuse_untunable(old: Identity, proposed: Identity) -> None:
    """Raise `NotTunable` if a proposal changes anything but what may be tuned."""
    for key in KEYS:
        if key not in (*TUNABLE, "version") and getattr(old, key) != getattr(proposed, key):
            raise NotTunable(f"The proposal changes `{key}`, which is not tunable.")


def identity_text(path: Path) -> str:
    """The text of an identity file."""
    try:
        with path.open("rb") as file:
            # One byte more than allowed is enough to see that it is too much.
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise IdentityError(
            f"There is no file `{path}`.", remedy="Check the path of the identity file."
        ) from None
    except (OSError, ValueError):
        raise IdentityError(
            f"The file `{str(path)[:200]!r}` cannot be read.",
            remedy="Check that it is a file and that you may read it.",
        ) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Finding((), f"Byte {error.start + 1} is not UTF-8.", "Save the file as UTF-8.")
        raise _invalid([problem], str(path), None) from None


def _is_text(value: object, least: int, most: int) -> bool:
    """Whether a value is text that can be stored and has a length within bounds."""
    return isinstance(value, str) and least <= len(value) <= most and storable(value)


# What each value must be, the same in words, and an example of it.
_RULES: Mapping[str, tuple[Callable[[Any], bool], str, str]] = {
    "agent_id": (
        lambda value: _is_text(value, 1, 64) and bool(_AGENT_ID.match(value)),
        "1 to 64 letters and digits of ASCII, with single dots, dashes and underscores between",
        "help-desk",
    ),
    "name": (
        lambda value: _is_text(value, 0, _NAME_MAX),
        f"text of at most {_NAME_MAX} characters, without NUL and lone surrogates",
        '"Help Desk"',
    ),
    "instructions": (
        lambda value: _is_text(value, 0, INSTRUCTIONS_MAX),
        f"text of at most {INSTRUCTIONS_MAX:,} characters, without NUL and lone surrogates",
        '"Answer in one sentence."',
    ),
    "model": (
        lambda value: value is None or (_is_text(value, 1, _NAME_MAX) and bool(value.strip())),
        f"a model's name of at most {_NAME_MAX} characters",
        '"my-model"',
    ),
    "prompt_tokens": (
        lambda value: type(value) is int and 256 <= value <= 1_000_000,
        "a whole number from 256 to 1,000,000",
        "4000",
    ),
    "version": (
        lambda value: type(value) is int and 1 <= value < 2**31,
        "a whole number from 1 to 2,147,483,647",
        "1",
    ),
}


def _problems(data: Mapping[str, Any]) -> list[Finding]:
    """Everything wrong with these values, heuristics apart."""
    findings = []
    for key in data.keys() - set(KEYS):
        close = nearest(key, KEYS)
        remedy = f"Did you mean `{close}`? " if close else ""
        message = f"`{key[:60]}` is not a key of an identity."
        findings.append(Finding((key,), message, f"{remedy}Known: {', '.join(KEYS)}."))
    for key, (holds, rule, example) in _RULES.items():
        if (key in data or key == "agent_id") and not holds(data.get(key)):
            remedy = f"Write for example `{key}: {example}`."
            findings.append(Finding((key,), f"`{key}` is {rule}.", remedy))
    return findings


def _heuristics(values: object, persona: Persona) -> FuzzyHeuristics | list[Finding]:
    """A persona's heuristics: the given keys on top of the shipped ones."""
    shipped = default_heuristics(persona)
    if values is None:
        return shipped
    if not isinstance(values, dict):
        what = "The heuristics of a persona are a mapping."
        return [Finding((persona,), what, "Write for example `{threshold: 60}`.")]
    merged = shipped.model_dump(mode="json")
    for key, value in values.items():
        below = merged.get(key)
        both = isinstance(below, dict) and isinstance(value, dict)
        merged[key] = {**below, **value} if both and below is not None else value
    fitted = fit(FuzzyHeuristics, merged, (persona,))
    if isinstance(fitted, FuzzyHeuristics) and not any(fitted.weights.model_dump().values()):
        message = "Both weights are zero, so every summary would score the same."
        return [Finding((persona, "weights"), message, "Give one of them a weight above 0.")]
    return fitted


def _invalid(
    findings: Sequence[Finding], source: str, document: YamlDocument | None
) -> IdentityInvalid:
    """The error that lists these findings, with their lines where a document knows them."""
    problems = [
        SpecProblem(
            SECTION,
            path_of(found.steps),
            found.message,
            found.remedy,
            document.line_of(found.steps) if document else None,
        )
        for found in dict.fromkeys(findings)
    ]
    return IdentityInvalid(
        sorted(problems, key=lambda problem: (problem.line or 0, problem.path)), source=source
    )


# --- its file: replaced in one step, with every version kept beside it ---------------------------

# `agent.yaml` has its past in `agent.versions/`, one file per version that it replaced. A change
# rewrites `instructions` and `version` where they stand, so that an author's comments survive.


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
        """Restore the instructions of an earlier version, by default the previous one.

        It becomes a new version: what happened in between stays on record.
        """
        with self._locked():
            now, past = self.read(), self.versions()
            earlier = [version for version in past if version < now.version]
            target = to if to is not None else max(earlier, default=None)
            if target is None or target not in past:
                which = "earlier version" if target is None else f"version {target}"
                raise IdentityError(
                    f"There is no {which} to go back to.",
                    remedy=f"Versions kept: {', '.join(map(str, past)) or 'none'}.",
                )
            then = Identity.load(self._kept(target))
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
