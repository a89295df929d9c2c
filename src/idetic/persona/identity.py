"""Identity of an agent: a name, instructions it may tune, and heuristics it may not.

It is read from a YAML file or a mapping. Heuristics that it does not give are those of the
shipped spec `persona_agent`, key by key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from idetic.persona.event_validation import unstorable
from idetic.persona.events import Persona
from idetic.persona.persona_errors import IdentityError, IdentityInvalid, NotTunable
from idetic.spec.loader import load as load_spec
from idetic.spec.plain import MAX_BYTES, plain
from idetic.spec.primitives import FuzzyHeuristics
from idetic.spec.problems import Finding, SpecInvalid, SpecProblem, path_of
from idetic.spec.shape import fit, nearest

if TYPE_CHECKING:
    from idetic.spec.document import YamlDocument

TUNABLE = ("instructions",)
"""What `learn` may change; the version follows from it."""
INSTRUCTIONS_MAX = 8_000
SECTION = "Identity"

_NAME_MAX = 200
# Two underscores in a row separate the parts of a collection's name.
_AGENT_ID = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*\Z")


@lru_cache(maxsize=2)
def default_heuristics(persona: Persona) -> FuzzyHeuristics:
    """A persona's heuristics as the shipped spec has them."""
    short_term = load_spec("persona_agent").retrieval.short_term
    if short_term is None or (found := short_term.of(persona)) is None:
        raise IdentityError("The shipped spec `persona_agent` declares no short-term memory.")
    return found


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
        """The identity of a mapping; a `document` knows the lines it was read from."""
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
    return isinstance(value, str) and least <= len(value) <= most and not unstorable(value)


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
    found = []
    for key in data.keys() - set(KEYS):
        close = nearest(key, KEYS)
        remedy = f"Did you mean `{close}`? " if close else ""
        message = f"`{key[:60]}` is not a key of an identity."
        found.append(Finding((key,), message, f"{remedy}Known: {', '.join(KEYS)}."))
    for key, (holds, rule, example) in _RULES.items():
        if (key in data or key == "agent_id") and not holds(data.get(key)):
            remedy = f"Write for example `{key}: {example}`."
            found.append(Finding((key,), f"`{key}` is {rule}.", remedy))
    return found


def _heuristics(given: object, persona: Persona) -> FuzzyHeuristics | list[Finding]:
    """A persona's heuristics: the given keys on top of the shipped ones."""
    shipped = default_heuristics(persona)
    if given is None:
        return shipped
    if not isinstance(given, dict):
        what = "The heuristics of a persona are a mapping."
        return [Finding((persona,), what, "Write for example `{threshold: 60}`.")]
    merged = shipped.model_dump(mode="json")
    for key, value in given.items():
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
