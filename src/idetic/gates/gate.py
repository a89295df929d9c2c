"""Primitive 14: what each boundary of a spec does to the text that crosses it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idetic.gates.redaction import PLACEHOLDER, Recogniser, Recognisers, redact
from idetic.model import Claim
from idetic.spec.identifiers import DeclaredIdentifiers, IdentifierLookup
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

# Scripts that put no spaces between words; two of their characters make about one word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W_{_UNSPACED}]+")
_STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being both but by
    can could did do does done for from had has have he her here hers him his how i if in into is
    it its itself just may me might more most must my no nor not now of off on once only or other
    our out over own per same shall she should so some such than that the their them then there
    these they this those through to too under until up upon us very via was we were what when
    where which while who whom whose why will with within without would you your
    der die das den dem des ein eine und oder ist war sind mit von zu im am an auf bei nicht
    le la les un une et ou est sont avec de du des au aux dans sur pour pas
    el los las una y es son con del al en por para que no
    """.split()
)
# Numbers outside this range are counts, or no numbers of persons.
_TOO_SHORT, _TOO_LONG = 10**5, 10**40


@dataclass(frozen=True, slots=True)
class Redaction:
    """What a gate removed: the kind and how many, never the content."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Passed:
    """What comes out of a gate. `refused` is a sentence when what is left means nothing."""

    text: str
    changes: tuple[Redaction, ...] = ()
    refused: str | None = None


class Pipeline:
    """Everything one boundary does to a text, in one pass.

    Hedging and read-only access are no transformations of a text: `hedges` and `read_only`
    tell the caller that this boundary wants them.
    """

    def __init__(
        self,
        kinds: Iterable[GateKind],
        recognisers: Iterable[Recogniser],
        lookups: Iterable[IdentifierLookup] = (),
    ) -> None:
        """`lookups` say where the caller finds names to give to `apply` as identifiers."""
        self.kinds = frozenset(kinds)
        self.lookups = tuple(lookups)
        self._recognisers = Recognisers(recognisers)

    @property
    def hedges(self) -> bool:
        """Whether an answer names the strength of its source."""
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
        if not counts and "[" not in text:
            return Passed(text)
        return Passed(result, _redactions(counts), self._refusal(result))

    def apply_envelope(
        self, envelope: Mapping[str, Any], identifiers: Iterable[str] = ()
    ) -> tuple[Mapping[str, Any], tuple[Redaction, ...], str | None]:
        """An envelope as it may cross: its values, never its keys; what changed; a refusal.

        A claim that would change is refused: redacted, it would equal every other redacted one.
        The same object comes back if nothing was detected.
        """
        if not self.transforms or not envelope:
            return envelope, (), None
        gated, refused = _EnvelopeGate(self._with(identifiers)), None
        result: dict[str, Any] = {}
        for key, value in envelope.items():
            if key == "claim" and isinstance(value, Claim | Mapping):
                refused = gated.claim_refusal(value)
                result[key] = value
            else:
                result[key] = gated.value(key, value)
        return (result if gated.counts else envelope), _redactions(gated.counts), refused

    def _with(self, identifiers: Iterable[str]) -> tuple[Recogniser, ...]:
        """The recognisers, with those for the caller's names where identifiers are stripped."""
        if GateKind.STRIP_IDENTIFIERS not in self.kinds or identifiers == ():
            return self._recognisers
        from idetic.gates.identifiers import named  # noqa: PLC0415 - loads phonenumbers

        return (*self._recognisers, *named(identifiers))

    def _refusal(self, text: str) -> str | None:
        """Why too little is left of a text for it to cross, or None if enough is."""
        if not self.transforms or "[" not in text:
            return None
        rest, placeholders = PLACEHOLDER.subn(" ", text)
        if not placeholders:
            return None
        words = _WORD.findall(rest)
        meaningful = sum(map(_means_something, words))
        if GateKind.STRIP_IDENTIFIERS in self.kinds and (
            meaningful < MEANINGFUL_WORDS or placeholders > len(words)
        ):
            return _NO_PATTERN
        return None if meaningful else _NOTHING_LEFT


def _means_something(word: str) -> bool:
    """Whether a word has letters and is no stop word."""
    if word.isdigit() or (len(word) < 2 and word.isascii()):
        return False
    return word.lower() not in _STOP_WORDS


def _redactions(counts: Counter[str]) -> tuple[Redaction, ...]:
    """How much of each kind was removed, in a fixed order."""
    return tuple(Redaction(kind, counts[kind]) for kind in sorted(counts))


class _EnvelopeGate:
    """Gates every text of an envelope, at any depth, with its key as the label."""

    def __init__(self, recognisers: Sequence[Recogniser]) -> None:
        self._recognisers = recognisers
        self.counts: Counter[str] = Counter()

    def claim_refusal(self, claim: Claim | Mapping[str, Any]) -> str | None:
        """Why a claim cannot cross, if it cannot. It is never rewritten."""
        parts = claim.as_dict() if isinstance(claim, Claim) else claim
        before = self.counts.copy()
        for name, value in parts.items():
            # What the value is, the attribute says.
            self._text(str(parts.get("attribute", "")) if name == "value" else "", str(value))
        removed = self.counts - before
        if not removed:
            return None
        kinds = ", ".join(sorted(kind.replace("_", " ") for kind in removed))
        return (
            f"The claim holds what this boundary removes ({kinds}); without it, it would equal "
            "every other claim that lost the same."
        )

    def value(self, label: str, value: Any) -> Any:
        """A value of the envelope as it may cross."""
        if isinstance(value, str):
            return self._text(label, value)
        if isinstance(value, Mapping):
            return {key: self.value(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            items = [self.value(label, item) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, int) and _TOO_SHORT < abs(value) < _TOO_LONG:
            # A card number is one even where it is written as a number.
            written = self._text(label, str(value))
            return value if written == str(value) else written
        return value

    def _text(self, label: str, value: str) -> str:
        """One text of an envelope as it may cross; what was removed is counted."""
        result, removed = redact(value, self._recognisers, label)
        if removed:
            self.counts.update(removed)
        return result


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
        self._declared = {g.boundary: g.identifiers for g in spec.gates if g.identifiers}
        self._regions = regions
        self._more = tuple(recognisers)
        self._pipelines: dict[tuple[Boundary, ...], Pipeline] = {}

    def at(self, *boundaries: Boundary) -> Pipeline:
        """What happens at a boundary, or at several that are crossed in one step.

        One without a gate lets everything pass.
        """
        if boundaries not in self._pipelines:
            kinds = frozenset(k for b in boundaries for k in self._kinds.get(b, ()))
            declared = [self._declared[b] for b in boundaries if b in self._declared]
            lookups = (one for each in declared for one in each.lookups)
            recognisers = self._recognisers(kinds, declared)
            self._pipelines[boundaries] = Pipeline(kinds, recognisers, lookups)
        return self._pipelines[boundaries]

    def _recognisers(
        self, kinds: frozenset[GateKind], declared: Sequence[DeclaredIdentifiers]
    ) -> tuple[Recogniser, ...]:
        """The recognisers of some kinds of gate, loaded only where they are needed."""
        # Together the detectors take 0.2 s to load; an agent without gates never pays it.
        recognisers: tuple[Recogniser, ...] = ()
        if GateKind.SECRETS in kinds:
            from idetic.gates.credentials import SECRETS  # noqa: PLC0415

            recognisers += SECRETS
        if GateKind.PII in kinds:
            from idetic.gates.personal_data import personal_data  # noqa: PLC0415

            recognisers += (*personal_data(self._regions), *self._more)
        if GateKind.STRIP_IDENTIFIERS in kinds:
            from idetic.gates.identifiers import IDENTIFIERS, named, shaped  # noqa: PLC0415

            recognisers += IDENTIFIERS
            recognisers += named(name for each in declared for name in each.names)
            recognisers += shaped(glob for each in declared for glob in each.patterns)
        return recognisers
