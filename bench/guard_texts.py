"""Rules and notes for the guard's benchmark, of two sorts.

Sentences: halves of the public sentences of MRPC and STS-B put together anew, so that words and
their frequencies are those of real text. Templates: made up of a few sentence shapes and some
hundred words, so that every rule looks like every other; the hard case for a trigram index.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from bench.common import data_file
from bench.dedup import mrpc
from bench.sts import pairs

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


def _template_rules(count: int) -> list[str]:
    """So many different rules of 100 characters and more, the same ones every time."""
    rng = seeded(2026)
    found: dict[str, None] = {}
    while len(found) < count:
        parts = [_filled(rng.choice(shapes), rng) for shapes in (_WHEN, _DUTY, _ADD)]
        text = ", ".join(parts[:2]) + " " + parts[2] + "."
        if len(text) >= 100:
            found.setdefault(text)
    return list(found)


def _template_note(rng: random.Random, least: int) -> str:
    text = _filled(rng.choice(_SAID), rng)
    while len(text) < least:
        text += " " + _filled(rng.choice(_SAID), rng)
    return text


@cache
def _sentences() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Public sentences: those that rules are made of, and others for notes."""
    said = {one for split in ("train", "test") for pair in mrpc(split) for one in pair[1:]}
    for part in ("train", "dev", "test"):
        said |= {one for pair in pairs(data_file(f"stsb/sts-{part}.csv")) for one in pair[1:]}
    ordered = sorted(said)
    seeded(1).shuffle(ordered)
    return tuple(ordered[3000:]), tuple(ordered[:3000])


def _joined(rng: random.Random, sentences: Sequence[str], least: int) -> str:
    text = ""
    while len(text) < least:
        words = rng.choice(sentences).split(" ")
        middle = len(words) // 2
        text += " ".join(words[:middle] if rng.random() < 0.5 else words[middle:]) + " "
    return text.strip()


def _sentence_rules(count: int) -> list[str]:
    rng, (sentences, _) = seeded(2026), _sentences()
    found: dict[str, None] = {}
    while len(found) < count:
        found.setdefault(_joined(rng, sentences, 105))
    return list(found)


def _sentence_note(rng: random.Random, least: int) -> str:
    return _joined(rng, _sentences()[1], least)


@dataclass(frozen=True)
class Corpus:
    """Where rules and notes of one sort come from."""

    name: str
    rules: Callable[[int], list[str]]
    note: Callable[[random.Random, int], str]


CORPORA = (
    Corpus("sentences", _sentence_rules, _sentence_note),
    Corpus("templates", _template_rules, _template_note),
)


def _near(rng: random.Random, rule: str, _: Corpus) -> str:
    """A rule with one of its words exchanged: most are above the bound."""
    words = rule.split(" ")
    words[rng.randrange(1, len(words) - 1)] = rng.choice(_WORDS["state"])
    return " ".join(words)


def _loose(rng: random.Random, rule: str, _: Corpus) -> str:
    """A rule with every sixth word exchanged: below the bound, and near enough to be looked at."""
    return " ".join(
        rng.choice(_WORDS["infinitive"]) if n % 6 == 5 else word
        for n, word in enumerate(rule.split(" "))
    )


def _quoting(rng: random.Random, rule: str, corpus: Corpus) -> str:
    return f"{corpus.note(rng, 150)} {rule} {corpus.note(rng, 150)}"


def _new(least: int, most: int = 2000) -> Make:
    return lambda rng, _, corpus: corpus.note(rng, least)[:most]


Make = Callable[[random.Random, str, Corpus], str]
KINDS: Mapping[str, Make] = {
    "new text": _new(150),
    "new text, short": _new(50, 99),
    "new text, 1,000": _new(950),
    "new text, 2,000": _new(2000),
    "near-duplicate": _near,
    "loosely rewritten": _loose,
    "decorated copy": lambda _, rule, __: "\u200b".join(rule),
    "quoted in a note": _quoting,
}
