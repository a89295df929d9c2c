"""The `pii` gate: what points to a person is not remembered."""

from __future__ import annotations

from collections.abc import Iterator

from idetic.gates.contacts import Phones, emails
from idetic.gates.digits import runs
from idetic.gates.labelled import labelled
from idetic.gates.national_ids import national_ids, tax_codes
from idetic.gates.network import addresses
from idetic.gates.payment import cards, ibans
from idetic.gates.spans import Recogniser, Span


def personal_data(regions: tuple[str, ...]) -> tuple[Recogniser, ...]:
    """The recognisers of personal data; telephone numbers without a `+` are of these regions."""
    phones = Phones(regions)

    def numbers(text: str) -> Iterator[Span]:
        for run in runs(text):
            yield from cards(text, run)
            yield from national_ids(text, run)
            yield from phones.of(text, run)

    return (emails, ibans, numbers, tax_codes, addresses, labelled)
