"""Made-up rules and notes for the guard's benchmark: one vocabulary, so that they look alike.

That is the hard case for a trigram index. Rules come from a few sentence shapes and some hundred
words, as the rules of one business do, and notes use the very same words in other shapes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

_WHEN = (
    "When {object} is {state}", "If {number} {objects} are {state} within a {span}",
    "As long as {object} has not been {state}", "Whenever {subject} reports {object}",
    "Before {object} leaves the {place}", "After {object} was {state} twice",
    "Unless {object} is {state} already", "Where {object} exceeds {number} units",
)  # fmt: skip
_DUTY = (
    "{subject} {verb} {object} and {verb} {object2}", "{subject} must {infinitive} {object}",
    "{object} is {state} by {subject}", "{subject} may not {infinitive} {object} in the {place}",
    "{object} stays in the {place} for {number} {span}s",
    "{subject} asks {subject2} to {infinitive} it",
)  # fmt: skip
_ADD = (
    "and {subject2} is told within {number} {span}s", "which {subject2} has to confirm in writing",
    "and the {place} keeps a copy for {number} {span}s",
    "except for {object2} below {number} units",
    "and nobody else may {infinitive} it", "so that {subject2} can {infinitive} {object2} later",
)  # fmt: skip


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split(", "))


_KIND = _listed(
    "a wire, an urgent, a late, a domestic, a foreign, a disputed, a recurring, "
    "an unsigned, a corporate, a sealed, a partial, an archived"
)
_THING = _listed(
    "payment, refund, invoice, contract, shipment, complaint, statement, mandate, voucher, "
    "application, certificate, reservation, claim, permit, transfer, deposit, "
    "delivery, subscription"
)
_WORDS: Mapping[str, tuple[str, ...]] = {
    "object": tuple(f"{kind} {thing}" for kind in _KIND for thing in _THING),
    "objects": _listed(
        "payments, refunds, invoices, contracts, shipments, complaints, claims, mandates, "
        "vouchers, applications, certificates, permits, deliveries"
    ),
    "state": _listed(
        "released, rejected, archived, countersigned, translated, withdrawn, priced, reopened, "
        "escalated, insured, weighed, notarised, reconciled, renewed, cancelled, forwarded, "
        "acknowledged, quarantined, audited, published"
    ),
    "subject": _listed(
        "the desk, the second operator, a supervisor, the regional office, the courier, the "
        "treasurer, an external auditor, the night shift, the claims handler, the compliance "
        "officer, the account manager, the data steward, the warehouse, the legal department, a "
        "licensed broker, the customer's bank, the registrar"
    ),
    "verb": _listed(
        "checks, records, returns, locks, measures, announces, duplicates, signs, compares, "
        "repairs, refuses, collects, schedules, encrypts, photographs"
    ),
    "infinitive": _listed(
        "approve, inspect, destroy, postpone, reassign, recalculate, disclose, photograph, "
        "outsource, split, duplicate, overwrite, sample, certify"
    ),
    "place": _listed(
        "vault, mail room, northern branch, test system, public register, call centre, loading "
        "bay, evidence folder, partner portal, cold store, planning board"
    ),
    "span": _listed("minute, hour, day, week, month, quarter, year, shift, season"),
}
_SAID = (
    "Looked at {number} {objects} today and {number2} of them were {state} late.",
    "{Subject} seems to forget this in the {place}.", "It took {number} {span}s to find out why.",
    "My guess is that nobody in the {place} reads the notice.", "I would try it with fewer steps.",
    "Asked around: {subject} knows, {subject2} does not.", "The {place} was quiet this {span}.",
    "Customers hardly ever complain about {objects}, though {number} did this {span}.",
    "What works better is a call, since {object} rarely explains itself.",
    "There is a pattern here that deserves a closer look next {span}.",
)  # fmt: skip


def seeded(number: int) -> random.Random:
    """Chance that repeats."""
    return random.Random(number)  # noqa: S311 - made-up texts


def _filled(shape: str, rng: random.Random) -> str:
    chosen = {name: rng.choice(words) for name, words in _WORDS.items()}
    chosen |= {f"{name}2": rng.choice(_WORDS[name]) for name in ("object", "subject")}
    chosen["Subject"] = chosen["subject"].capitalize()
    return shape.format(number=rng.randint(2, 99), number2=rng.randint(2, 99), **chosen)


def rules(count: int) -> list[str]:
    """So many different rules of 100 characters and more, the same ones every time."""
    rng = seeded(2026)
    found: dict[str, None] = {}
    while len(found) < count:
        parts = [_filled(rng.choice(shapes), rng) for shapes in (_WHEN, _DUTY, _ADD)]
        text = ", ".join(parts[:2]) + " " + parts[2] + "."
        if len(text) >= 100:
            found.setdefault(text)
    return list(found)


def _note(rng: random.Random, least: int) -> str:
    text = _filled(rng.choice(_SAID), rng)
    while len(text) < least:
        text += " " + _filled(rng.choice(_SAID), rng)
    return text[:2000]


def _near(rng: random.Random, known: Sequence[str]) -> str:
    """A rule with one of its words exchanged: most are above the bound."""
    words = rng.choice(known).split(" ")
    place = rng.randrange(1, len(words) - 1)
    words[place] = rng.choice(_WORDS["state"])
    return " ".join(words)


def _loose(rng: random.Random, known: Sequence[str]) -> str:
    """A rule with every third word exchanged: below the bound, and near enough to be looked at."""
    words = rng.choice(known).split(" ")
    return " ".join(
        rng.choice(_WORDS["infinitive"]) if n % 3 == 2 else word for n, word in enumerate(words)
    )


def _spaced(rng: random.Random, known: Sequence[str]) -> str:
    return "\u200b".join(rng.choice(known))


def _quoting(rng: random.Random, known: Sequence[str]) -> str:
    return f"{_note(rng, 150)} {rng.choice(known)} {_note(rng, 150)}"


Make = Callable[[random.Random, Sequence[str]], str]
KINDS: Mapping[str, Make] = {
    "new text": lambda rng, _: _note(rng, 150),
    "new text, short": lambda rng, _: _filled(rng.choice(_SAID), rng)[:99],
    "new text, 1,000": lambda rng, _: _note(rng, 950),
    "new text, 2,000": lambda rng, _: _note(rng, 2000),
    "near-duplicate": _near,
    "loosely rewritten": _loose,
    "decorated copy": _spaced,
    "quoted in a note": _quoting,
}
