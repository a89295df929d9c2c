"""Primitive 14: what each boundary of a spec does to the text that crosses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from idetic.gates.envelope import rewritten
from idetic.gates.redaction import redact
from idetic.gates.spans import Recogniser
from idetic.gates.words import words
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary, GateKind

# Where telephone numbers without a country code are taken to come from.
REGIONS = ("US", "GB", "DE")

MEANINGFUL_WORDS = 5

_NOTHING_LEFT = "Nothing is left of the text but what the gate removed."
_NO_PATTERN = (
    f"Without its identifiers the text says too little: fewer than {MEANINGFUL_WORDS} words with "
    "a meaning are left, or more than half of its words were identifiers."
)


@dataclass(frozen=True, slots=True)
class Change:
    """What a gate removed: the kind and how many, never the content."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Passed:
    """What comes out of a gate. `refused` is a sentence when what is left means nothing."""

    text: str
    changes: tuple[Change, ...] = ()
    refused: str | None = None


class Pipeline:
    """Everything one boundary does to a text, in one pass.

    Hedging and read-only access are no transformations of a text: `hedges` and `read_only`
    tell the caller that this boundary wants them.
    """

    def __init__(self, kinds: Iterable[GateKind], recognisers: Iterable[Recogniser]) -> None:
        self.kinds = frozenset(kinds)
        self._recognisers = tuple(recognisers)

    @property
    def hedges(self) -> bool:
        """Whether what crosses is told with the strength of its source."""
        return GateKind.HEDGE in self.kinds

    @property
    def read_only(self) -> bool:
        """Whether those behind this boundary may only read."""
        return GateKind.READ_ONLY in self.kinds

    @property
    def transforms(self) -> bool:
        """Whether this boundary changes text at all."""
        return bool(self._recognisers)

    def apply(self, text: str, identifiers: Iterable[str] = ()) -> Passed:
        """The text as it may cross, what was changed, and whether anything is left of it.

        `identifiers` are names that only the caller knows, such as the anchor's; they are
        stripped where the boundary strips identifiers. A clean text comes back as it is.
        """
        result, counts = redact(text, self._with(identifiers))
        return Passed(result, _changes(counts), self._refusal(result))

    def apply_envelope(
        self, envelope: Mapping[str, Any], identifiers: Iterable[str] = ()
    ) -> tuple[Mapping[str, Any], tuple[Change, ...], str | None]:
        """An envelope as it may cross: its values, never its keys; what changed; a refusal.

        A claim that would change is refused: redacted, it would equal every other redacted one.
        """
        if not self.transforms:
            return envelope, (), None
        result, counts, refused = rewritten(envelope, self._with(identifiers))
        return result, _changes(counts), refused

    def _with(self, identifiers: Iterable[str]) -> tuple[Recogniser, ...]:
        if GateKind.STRIP_IDENTIFIERS not in self.kinds or identifiers == ():
            return self._recognisers
        from idetic.gates.identifiers import named  # noqa: PLC0415 - loads phonenumbers

        return (*self._recognisers, *named(identifiers))

    def _refusal(self, text: str) -> str | None:
        if not self.transforms or "[" not in text:
            return None
        count = words(text)
        if not count.placeholders:
            return None
        if GateKind.STRIP_IDENTIFIERS in self.kinds and (
            count.meaningful < MEANINGFUL_WORDS or count.placeholders > count.all
        ):
            return _NO_PATTERN
        return None if count.meaningful else _NOTHING_LEFT


class Gates:
    """The gates of one spec. Detectors are loaded when a boundary first needs them."""

    def __init__(
        self,
        spec: MemorySpec,
        *,
        regions: tuple[str, ...] = REGIONS,
        recognisers: Iterable[Recogniser] = (),
    ) -> None:
        """`recognisers` are asked for personal data besides our own, such as Presidio's."""
        self._kinds = {gate.boundary: frozenset(gate.apply) for gate in spec.gates}
        self._regions = regions
        self._more = tuple(recognisers)
        self._pipelines: dict[tuple[Boundary, ...], Pipeline] = {}

    def at(self, *boundaries: Boundary) -> Pipeline:
        """What happens at a boundary, or at several that are crossed in one step.

        One without a gate lets everything pass.
        """
        if boundaries not in self._pipelines:
            nothing: frozenset[GateKind] = frozenset()
            kinds = nothing.union(*(self._kinds.get(each, nothing) for each in boundaries))
            self._pipelines[boundaries] = Pipeline(kinds, self._recognisers(kinds))
        return self._pipelines[boundaries]

    def _recognisers(self, kinds: frozenset[GateKind]) -> tuple[Recogniser, ...]:
        # Together the detectors take 0.2 s to load; an agent without gates never pays it.
        found: tuple[Recogniser, ...] = ()
        if GateKind.SECRETS in kinds:
            from idetic.gates.credentials import SECRETS  # noqa: PLC0415

            found += SECRETS
        if GateKind.PII in kinds:
            from idetic.gates.personal import personal_data  # noqa: PLC0415

            found += (*personal_data(self._regions), *self._more)
        if GateKind.STRIP_IDENTIFIERS in kinds:
            from idetic.gates.identifiers import IDENTIFIERS  # noqa: PLC0415

            found += IDENTIFIERS
        return found


def _changes(counts: Counter[str]) -> tuple[Change, ...]:
    return tuple(Change(kind, counts[kind]) for kind in sorted(counts))
