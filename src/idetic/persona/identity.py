"""Who an agent is: a name, instructions it may tune, and heuristics it may not.

Read from a YAML file or a mapping. What is not said about a persona's heuristics is as the
shipped spec `persona_agent` says it, key by key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from idetic.persona.errors import IdentityError, IdentityInvalid, NotTunable
from idetic.persona.events import Persona
from idetic.persona.identity_checks import KEYS, SECTION, invalid, look
from idetic.persona.identity_text import text_of
from idetic.spec.loader import load as load_spec
from idetic.spec.plain import plain
from idetic.spec.primitives import FuzzyHeuristics
from idetic.spec.problems import Finding, SpecInvalid, SpecProblem
from idetic.spec.shape import fit

if TYPE_CHECKING:
    from idetic.spec.document import YamlDocument

TUNABLE = ("instructions",)
"""What `learn` may change; the version follows from it."""

_BEGIN = "Begin with `agent_id: my-agent` on a line of its own."
_LOOK = "Correct the YAML there; docs/reference/identity.md shows a whole file."


class Heuristics(FuzzyHeuristics):
    """One persona's window and scoring, as the spec types them; with the formula's own names."""

    @property
    def w_similarity(self) -> float:
        """What similarity weighs."""
        return self.weights.similarity

    @property
    def w_recency(self) -> float:
        """What recency weighs."""
        return self.weights.recency


@lru_cache(maxsize=1)
def _shipped() -> Mapping[str, dict[str, Any]]:
    short_term = load_spec("persona_agent").retrieval.short_term
    if short_term is None:
        raise IdentityError("The shipped spec `persona_agent` declares no short-term memory.")
    return {persona: getattr(short_term, persona).model_dump(mode="json") for persona in Persona}


def default_heuristics(persona: Persona) -> Heuristics:
    """A persona's heuristics as the shipped spec has them."""
    return Heuristics.model_validate(_shipped()[persona])


@dataclass(frozen=True, slots=True)
class Identity:
    """One agent's identity, valid by construction when it comes from `load` or `parse`."""

    agent_id: str
    name: str = ""
    instructions: str = field(default="", repr=False)
    actor: Heuristics = field(default_factory=lambda: default_heuristics(Persona.ACTOR))
    subconscious: Heuristics = field(
        default_factory=lambda: default_heuristics(Persona.SUBCONSCIOUS)
    )
    model: str | None = None
    prompt_tokens: int = 4_000
    version: int = 1

    def __post_init__(self) -> None:
        findings = look({key: getattr(self, key) for key in KEYS})
        if findings:
            raise invalid(findings, "The identity", None)

    def heuristics(self, persona: Persona) -> Heuristics:
        """How this persona's short-term memory is searched."""
        return self.actor if persona is Persona.ACTOR else self.subconscious

    def tuned(self, instructions: str) -> Identity:
        """The next version, with other instructions; nothing else can be tuned."""
        return replace(self, instructions=instructions, version=self.version + 1)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The identity that a YAML file holds, or every problem it has."""
        return cls.parse(text_of(Path(path)), str(path))

    @classmethod
    def parse(cls, text: str, source: str = "The identity") -> Self:
        """The identity that a YAML text holds; problems name their lines."""
        # PyYAML is a tenth of what importing Idetic costs.
        from idetic.spec.document import read  # noqa: PLC0415

        if not text.strip():
            raise invalid([Finding((), "The file is empty.", _BEGIN)], source, None)
        try:
            document = read(text, source)
        except SpecInvalid as error:
            raise IdentityInvalid(
                [
                    SpecProblem(SECTION, problem.path, problem.message, _LOOK, problem.line)
                    for problem in error.problems
                ],
                source=source,
            ) from None
        return cls._from(document.data, document.findings, source, document)

    @classmethod
    def of(cls, data: Mapping[str, Any], source: str = "The identity") -> Self:
        """The identity that a mapping makes."""
        return cls._from(data, [], source, None)

    @classmethod
    def _from(
        cls,
        data: Mapping[str, Any],
        unreadable: Sequence[Finding],
        source: str,
        document: YamlDocument | None,
    ) -> Self:
        readable, unstorable = plain(data)
        findings = [*unreadable, *unstorable, *look(readable)]
        heuristics: dict[str, Heuristics] = {}
        for persona in Persona:
            fitted = _heuristics(readable.get(persona), persona)
            if isinstance(fitted, Heuristics):
                heuristics[persona] = fitted
            else:
                findings += fitted
        if findings:
            raise invalid(findings, source, document)
        return cls(**{**readable, **heuristics})


def refuse_untunable(old: Identity, proposed: Identity) -> None:
    """Raise `NotTunable` if a proposal changes anything but what may be tuned."""
    for key in KEYS:
        if key in (*TUNABLE, "version"):
            continue
        if getattr(old, key) != getattr(proposed, key):
            raise NotTunable(f"The proposal changes `{key}`, which is not tunable.")


def _heuristics(said: object, persona: Persona) -> Heuristics | list[Finding]:
    """A persona's heuristics: what is said, on top of what is shipped."""
    shipped = _shipped()[persona]
    if said is None:
        return Heuristics.model_validate(shipped)
    if not isinstance(said, dict):
        what = "The heuristics of a persona are a mapping."
        return [Finding((persona,), what, "Write for example `{threshold: 60}`.")]
    merged = dict(shipped)
    for key, value in said.items():
        below = merged.get(key)
        both = isinstance(below, dict) and isinstance(value, dict)
        merged[key] = {**below, **value} if both and below is not None else value
    fitted = fit(Heuristics, merged, (persona,))
    if isinstance(fitted, Heuristics) and not fitted.w_similarity and not fitted.w_recency:
        message = "Both weights are zero, so every summary would score the same."
        return [Finding((persona, "weights"), message, "Give one of them a weight above 0.")]
    return fitted
