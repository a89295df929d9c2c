"""Gating an envelope: every text in it, at any depth, with its key as the label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from idetic.gates.redaction import redact
from idetic.gates.spans import Recogniser, Span
from idetic.gates.view import view
from idetic.model import Claim

_CLAIM = "claim"
# Numbers outside this range are counts, or no numbers of persons.
_TOO_SHORT, _TOO_LONG = 10**5, 10**40


def rewritten(
    envelope: Mapping[str, Any], recognisers: Sequence[Recogniser]
) -> tuple[Mapping[str, Any], Counter[str], str | None]:
    """The envelope without what the recognisers find; the same object if they find nothing."""
    counts: Counter[str] = Counter()
    refused = None
    result: dict[str, Any] = {}
    for key, value in envelope.items():
        if key == _CLAIM and isinstance(value, Claim | Mapping):
            refused = _claim(value, recognisers, counts)
            result[key] = value
        else:
            result[key] = _value(key, value, recognisers, counts)
    return (result if counts else envelope), counts, refused


def _claim(
    claim: Claim | Mapping[str, Any], recognisers: Sequence[Recogniser], counts: Counter[str]
) -> str | None:
    """Why a claim cannot cross, if it cannot. It is never rewritten."""
    parts = claim.as_dict() if isinstance(claim, Claim) else claim
    found: Counter[str] = Counter()
    for name, value in parts.items():
        # What the value is, the attribute says.
        label = str(parts.get("attribute", "")) if name == "value" else ""
        _text(label, str(value), recognisers, found)
    if not found:
        return None
    counts.update(found)
    kinds = ", ".join(sorted(kind.replace("_", " ") for kind in found))
    return (
        f"The claim holds what this boundary removes ({kinds}); without it, it would equal every "
        "other claim that lost the same."
    )


def _value(label: str, value: Any, recognisers: Sequence[Recogniser], counts: Counter[str]) -> Any:
    if isinstance(value, str):
        return _text(label, value, recognisers, counts)
    if isinstance(value, Mapping):
        return {key: _value(str(key), inner, recognisers, counts) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        items = [_value(label, item, recognisers, counts) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, int) and _TOO_SHORT < abs(value) < _TOO_LONG:
        # A card number is one even where it is written as a number.
        written = _text(label, str(value), recognisers, counts)
        return value if written == str(value) else written
    return value


def _text(label: str, value: str, recognisers: Sequence[Recogniser], counts: Counter[str]) -> str:
    before = f"{view(label).text}: " if label else ""
    result, found = redact(value, [_after(before, recognise) for recognise in recognisers])
    counts.update(found)
    return result


def _after(before: str, recogniser: Recogniser) -> Recogniser:
    """A recogniser that reads the key before the value: `{"password": …}` says what it holds."""

    def find(text: str) -> Iterator[Span]:
        for span in recogniser(before + text):
            if span.end > len(before):
                start = max(0, span.start - len(before))
                yield span._replace(start=start, end=span.end - len(before))

    return find
