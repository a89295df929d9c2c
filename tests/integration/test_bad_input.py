"""Bad input is refused by name, says what to do, writes nothing, and breaks nothing.

Whatever a caller passes, the answer is an Idetic error: never the driver's, never a TypeError out
of the depths. The next good write works.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from idetic import Claim, Idetic, IdeticError, Observation, Principal, Ref, Rule, errors, open_sync
from idetic.library.handles import Agent, Interaction, Memory, Session
from idetic.model import PrincipalKind
from tests.conftest import TestDatabase, World, make_world
from tests.support.databases import copy_of, row_counts_on
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio

# Words in capitals that would mean that a statement or a driver's message has leaked.
LEAKED = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|VALUES|JOIN|CONSTRAINT|SQLSTATE|LINE \d)\b"
    r"|psycopg|Traceback|relation \"|column \"|0x[0-9a-f]{6}"
)


@dataclass
class Place:
    """Somewhere to write: one anchor with a session and an interaction that stay open."""

    db: Idetic
    database: TestDatabase
    admin: psycopg.Connection
    world: World
    session: Session
    interaction: Interaction

    def rows(self, schema: str = "worlds") -> dict[str, int]:
        """How many rows each table holds, past every policy."""
        return row_counts_on(self.admin, schema)

    @property
    def agent(self) -> Agent:
        return self.world.agent

    @property
    def operator(self) -> Memory:
        return self.world.operator


@pytest.fixture(scope="module")
async def place(server: TestServer, template: str, anyio_backend: str) -> AsyncIterator[Place]:
    with (
        copy_of(server, template) as database,
        psycopg.connect(database.admin_dsn, autocommit=True) as admin,
    ):
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            world = await make_world(db, await db.agent("world_agent"))
            async with world.memory.session() as session, session.interaction() as interaction:
                yield Place(db, database, admin, world, session, interaction)


Attempt = Callable[[Place], Awaitable[Any]]


async def check_refusal(place: Place, attempt: Attempt, wanted: type[IdeticError]) -> IdeticError:
    """The attempt fails as wanted, clearly, without a trace, and the next write works."""
    before = place.rows()
    with pytest.raises(IdeticError) as caught:
        await attempt(place)
    assert place.rows() == before, "something was written"
    check_clear(caught.value, wanted)
    good = await place.interaction.observe("A good note after a bad one.")
    assert (await place.world.memory.get(good.entry_id)).trust == 60  # type: ignore[arg-type]
    return caught.value


def check_clear(error: IdeticError, wanted: type[IdeticError]) -> None:
    assert isinstance(error, wanted), f"{type(error).__name__}: {error}"
    assert not LEAKED.search(str(error)), str(error)
    assert str(error).endswith(error.remedy)
    assert re.search(r"[.)]$", error.remedy), "the remedy is a sentence"
    assert len(str(error)) < 1000, "an error does not repeat megabytes"


# --- texts --------------------------------------------------------------------------------

BAD_TEXTS = {
    "NUL": "a\x00b",
    "lone high surrogate": "a\ud800b",
    "lone low surrogate": "\udfff",
    "10 MB": "x" * 10_000_000,
    "one too long": "x" * 2001,
    "empty": "",
    "whitespace": " \t\n\u2003\u00a0",
    "bytes": b"bytes",
    "number": 5,
    "None": None,
    "list": ["a", "b"],
    "an object": object(),
}


@pytest.mark.parametrize("text", BAD_TEXTS.values(), ids=BAD_TEXTS)
@pytest.mark.parametrize("verb", ["observe", "observe_many", "prefer"])
async def test_a_text_that_cannot_be_held_is_refused(place: Place, verb: str, text: Any) -> None:
    attempts: dict[str, Attempt] = {
        "observe": lambda p: p.session.observe(text),
        "observe_many": lambda p: p.session.observe_many([Observation("Good."), Observation(text)]),
        "prefer": lambda p: p.operator.prefer(text),
    }
    await check_refusal(place, attempts[verb], errors.TextRefused)


BAD_SHORT = {k: v for k, v in BAD_TEXTS.items() if k not in ("one too long", "None")}
BAD_SHORT |= {"201 characters": "x" * 201}


@pytest.mark.parametrize("text", BAD_SHORT.values(), ids=BAD_SHORT)
@pytest.mark.parametrize(
    "where",
    ["idempotency_key", "turn_key", "link_key", "reason", "link_reason", "provenance", "topic"],
)
async def test_a_short_text_that_cannot_be_held_is_refused(
    place: Place, where: str, text: Any
) -> None:
    entry = uuid4()
    attempts: dict[str, Attempt] = {
        "idempotency_key": lambda p: p.session.observe("Good.", idempotency_key=text),
        "turn_key": lambda p: p.operator.archive(entry, reason="why", idempotency_key=text),
        "link_key": lambda p: p.operator.link_action(
            uuid4(), "rule_promotion", [entry], idempotency_key=text
        ),
        "reason": lambda p: p.operator.exempt(entry, reason=text),
        "link_reason": lambda p: p.operator.link_action(
            uuid4(), "rule_promotion", [entry], reason=text
        ),
        "provenance": lambda p: p.session.observe(
            "Good.", provenance={"world_model_version": text}
        ),
        "topic": lambda p: p.session.observe("Good.", envelope={"topic": text}),
    }
    await check_refusal(place, attempts[where], errors.TextRefused)


# Said briefly or at length, a reason is cut to fit: closing never fails for want of words.
BAD_REASONS = {
    name: text
    for name, text in BAD_SHORT.items()
    if name not in ("empty", "whitespace", "10 MB", "201 characters")
}


@pytest.mark.parametrize("text", BAD_REASONS.values(), ids=BAD_REASONS)
async def test_a_reason_for_closing_that_cannot_be_held_leaves_the_scope_open(
    place: Place, text: Any
) -> None:
    async with place.world.memory.session() as session:
        await check_refusal(place, lambda _: session.close(text), errors.InputError)
        assert (await session.observe("Still open.")).decision == "ADD"


# --- the envelope, claims, provenance ---------------------------------------------------------


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for _ in range(depth):
        value = [value]
    return value


BAD_ENVELOPES: dict[str, Any] = {
    "a list": ["topic"],
    "a text": "topic",
    "a number": 7,
    "unknown key": {"colour": "red"},
    "unknown key with a NUL": {"a\x00": "red"},
    "unknown key with a surrogate": {"\ud800": "red"},
    "number as key": {1: "red"},
    "None as key": {None: "red"},
    "tuple as key": {("topic",): "red"},
    "NaN": {"activity": math.nan},
    "infinity": {"activity": math.inf},
    "minus infinity": {"tags": [-math.inf]},
    "a number beyond 64 bits": {"activity": 2**63},
    "a number of a million digits": {"activity": 10**1_000},
    "a decimal": {"activity": Decimal("1.5")},
    "bytes": {"activity": b"x"},
    "None": {"activity": None},
    "a mapping as value": {"activity": {"a": 1}},
    "a list where a scalar belongs": {"activity": ["a"]},
    "a scalar where a list belongs": {"tags": "friday"},
    "a set where a list belongs": {"tags": {"friday"}},
    "65 values": {"tags": [str(n) for n in range(65)]},
    "a list in a list": {"tags": [["friday"]]},
    "nested a thousand deep": {"tags": nested(1000)},
    "a mapping in a list": {"tags": [{"friday": True}]},
    "empty segment": {"topic": "payments//wire"},
    "leading slash": {"topic": "/payments"},
    "blank segment": {"topic": "payments/ /wire"},
    "more than 8 KiB": {"tags": ["\u20ac" * 150] * 20},
    "a claim of None": {"claim": None},
    "a claim of text": {"claim": "subject"},
    "a claim with a part missing": {"claim": {"subject": "s", "attribute": "a"}},
    "a claim with a part too many": {
        "claim": {"subject": "s", "attribute": "a", "value": "v", "since": "1990"}
    },
    "a claim with other keys": {"claim": {1: "s", 2: "a", 3: "v"}},
}


@pytest.mark.parametrize("envelope", BAD_ENVELOPES.values(), ids=BAD_ENVELOPES)
@pytest.mark.parametrize("verb", ["observe", "prefer"])
async def test_an_envelope_that_is_not_declared_so_is_refused(
    place: Place, verb: str, envelope: Any
) -> None:
    attempts: dict[str, Attempt] = {
        "observe": lambda p: p.session.observe("Good.", envelope=envelope),
        "prefer": lambda p: p.operator.prefer("Good.", envelope=envelope),
    }
    await check_refusal(place, attempts[verb], errors.EnvelopeRefused)


BAD_PARTS = {k: v for k, v in BAD_SHORT.items() if k != "an object"}


@pytest.mark.parametrize("part", ["subject", "attribute", "value"])
@pytest.mark.parametrize("text", BAD_PARTS.values(), ids=BAD_PARTS)
async def test_a_part_of_a_claim_that_cannot_be_held_is_refused(
    place: Place, part: str, text: Any
) -> None:
    parts = {"subject": "s", "attribute": "a", "value": "v", part: text}
    await check_refusal(
        place, lambda p: p.operator.prefer("Good.", claim=Claim(**parts)), errors.InputError
    )
    await check_refusal(
        place, lambda p: p.session.observe("Good.", envelope={"claim": parts}), errors.InputError
    )


@pytest.mark.parametrize("claim", ["text", 5, ("s", "a", "v"), {"subject": "s"}], ids=repr)
async def test_what_is_no_claim_is_refused(place: Place, claim: Any) -> None:
    await check_refusal(
        place, lambda p: p.session.observe("Good.", claim=claim), errors.EnvelopeRefused
    )


async def test_two_claims_that_disagree_are_refused(place: Place) -> None:
    """One in the envelope, one as an argument: neither may be dropped in silence."""
    other = {"subject": "s", "attribute": "a", "value": "other"}
    await check_refusal(
        place,
        lambda p: p.session.observe("Good.", claim=Claim("s", "a", "v"), envelope={"claim": other}),
        errors.EnvelopeRefused,
    )


@pytest.mark.parametrize(
    "provenance", ["v12", 5, ["v12"], {"colour": "v12"}, {1: "v12"}, {None: None}], ids=repr
)
async def test_provenance_that_is_not_declared_is_refused(place: Place, provenance: Any) -> None:
    await check_refusal(
        place, lambda p: p.session.observe("Good.", provenance=provenance), errors.InputError
    )


# --- questions ------------------------------------------------------------------------------

BAD_QUESTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    name: (text, {}) for name, text in BAD_TEXTS.items() if name != "one too long"
}
BAD_QUESTIONS |= {
    f"envelope: {name}": ("What?", {"envelope": envelope})
    for name, envelope in {
        "a list": ["topic"],
        "unknown key": {"colour": "red"},
        "number as key": {1: "red"},
        "None": {"topic": None},
        "NaN": {"activity": math.nan},
        "infinity": {"activity": math.inf},
        "a mapping": {"activity": {"a": 1}},
        "a list in a list": {"tags": [["friday"]]},
        "NUL": {"topic": "a\x00b"},
        "a surrogate": {"topic": "\ud800"},
        "a long text": {"topic": "x" * 201},
        "a million values": {"tags": ["x"] * 1_000_000},
    }.items()
}
BAD_QUESTIONS |= {
    f"limit {limit!r}": ("What?", {"limit": limit}) for limit in (0, -1, 201, 1.5, "10", True, None)
}
BAD_QUESTIONS |= {
    f"{name} {value!r}": ("What?", {name: value})
    for name in ("tiers", "typologies", "origins")
    for value in (5, None, ["eternal"], [None], "session", [["session"]])
}
BAD_QUESTIONS |= {
    f"min_trust {value!r}": ("What?", {"min_trust": value}) for value in (-1, 101, 0.5, "1", None)
}
BAD_QUESTIONS |= {
    f"as_of {value!r}": ("What?", {"as_of": value})
    for value in ("yesterday", 5, datetime(2026, 1, 1))  # noqa: DTZ001
}


@pytest.mark.parametrize(("query", "named"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
async def test_a_question_that_makes_no_sense_is_refused(
    place: Place, query: Any, named: dict[str, Any]
) -> None:
    await check_refusal(place, lambda p: p.operator.recall(query, **named), errors.InputError)


# --- references ---------------------------------------------------------------------------

BAD_REFS: dict[str, Any] = {
    "a text": "rule",
    "a number": 5,
    "None in a list": [None],
    "an id alone": [uuid4()],
    "an unknown noun": [Ref("world", uuid4())],
    "no noun": [Ref(None, uuid4())],  # type: ignore[arg-type]
    "a list as noun": [Ref(["rule"], uuid4())],  # type: ignore[arg-type]
    "a text as id": [Ref("rule", str(uuid4()))],  # type: ignore[arg-type]
    "a number as id": [Rule(5)],  # type: ignore[arg-type]
    "version zero": [Rule(uuid4(), version=0)],
    "a negative version": [Rule(uuid4(), version=-1)],
    "a version beyond 32 bits": [Rule(uuid4(), version=2**31)],
    "a text as version": [Rule(uuid4(), version="1")],  # type: ignore[arg-type]
    "a truth value as version": [Rule(uuid4(), version=True)],
    "65 of them": [Rule(uuid4()) for _ in range(65)],
}


@pytest.mark.parametrize("refs", BAD_REFS.values(), ids=BAD_REFS)
@pytest.mark.parametrize("verb", ["observe", "observe_many", "prefer"])
async def test_references_that_make_no_sense_are_refused(
    place: Place, verb: str, refs: Any
) -> None:
    attempts: dict[str, Attempt] = {
        "observe": lambda p: p.session.observe("Good.", refs=refs),
        "observe_many": lambda p: p.session.observe_many([Observation("Good.", refs=refs)]),
        "prefer": lambda p: p.operator.prefer("Good.", refs=refs),
    }
    await check_refusal(place, attempts[verb], errors.InputError)


async def test_a_reference_that_does_not_exist_leaves_nothing(place: Place) -> None:
    await check_refusal(
        place,
        lambda p: p.session.observe_many(
            [Observation("Good."), Observation("Bad.", refs=(Rule(uuid4()),))]
        ),
        errors.ReferenceNotFound,
    )


async def test_the_same_reference_twice_is_one(place: Place) -> None:
    rule = place.world.rule
    seen = await place.session.observe("About it.", refs=[rule, Rule(rule.id), rule] * 30)
    entry = await place.world.memory.get(seen.entry_id)  # type: ignore[arg-type]
    assert entry.refs == (rule,)


async def test_the_same_reference_in_two_versions_is_refused(place: Place) -> None:
    rule = place.world.rule
    await check_refusal(
        place,
        lambda p: p.session.observe("Both.", refs=[Rule(rule.id, 1), Rule(rule.id, 2)]),
        errors.IdeticError,
    )


# --- moments, ids, choices ---------------------------------------------------------------------


class Nowhere(tzinfo):
    """A time zone that does not say its offset: aware in type only."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return None

    def dst(self, _: datetime | None) -> timedelta | None:
        return None

    def tzname(self, _: datetime | None) -> str | None:
        return None


BAD_MOMENTS: dict[str, Any] = {
    "naive": datetime(2026, 1, 1),  # noqa: DTZ001
    "a text": "2026-01-01T00:00:00Z",
    "a number": 1_700_000_000,
    "a date": datetime(2026, 1, 1, tzinfo=UTC).date(),
    "aware in type only": datetime(2026, 1, 1, tzinfo=Nowhere()),
    "before the year 1": datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    "after the year 9999": datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
}


@pytest.mark.parametrize("moment", BAD_MOMENTS.values(), ids=BAD_MOMENTS)
async def test_a_moment_that_is_none_is_refused(place: Place, moment: Any) -> None:
    await check_refusal(
        place, lambda p: p.session.observe("Good.", valid_at=moment), errors.InputError
    )
    await check_refusal(place, lambda p: p.operator.as_of(moment), errors.InputError)


EDGES = [
    edge.replace(tzinfo=timezone(timedelta(hours=hours)))
    for edge in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
    for hours in (14, -12)
]


@pytest.mark.parametrize("moment", EDGES, ids=str)
async def test_no_moment_makes_an_anchor_unreadable(place: Place, moment: datetime) -> None:
    """A moment that PostgreSQL holds and Python cannot would spoil every list that shows it."""
    world = await make_world(place.db, place.agent)
    async with world.memory.session() as session:
        with suppress(errors.InputError):
            await session.observe("At the edge of time.", valid_at=moment)
        await session.observe("Now.")
        assert "Now." in [entry.body_text for entry in await world.memory.list()]


BAD_IDS: dict[str, Any] = {
    "a text": "not-a-uuid", "empty": "", "a number": 5, "zero": 0, "NUL": "\x00", "False": False,
    "bytes": b"0123456789abcdef", "a list": [], "a surrogate": "\ud800" * 32,
    "a uuid and more": f"{uuid4()}0",
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_IDS.values(), ids=BAD_IDS)
@pytest.mark.parametrize(
    "where",
    ["get", "history", "archive", "exempt", "link", "action", "list", "as_of", "session"],
)
async def test_an_id_that_is_none_is_refused(place: Place, where: str, bad: Any) -> None:
    async def session(p: Place) -> Any:
        return p.operator.session(bad)

    attempts: dict[str, Attempt] = {
        "get": lambda p: p.operator.get(bad),
        "history": lambda p: p.operator.history(bad),
        "archive": lambda p: p.operator.archive(bad, reason="why"),
        "exempt": lambda p: p.operator.exempt(bad, reason="why"),
        "link": lambda p: p.operator.link_action(uuid4(), "rule_promotion", [bad]),
        "action": lambda p: p.operator.link_action(bad, "rule_promotion", [uuid4()]),
        "list": lambda p: p.operator.list(before=bad),
        "as_of": lambda p: p.operator.as_of(datetime.now(UTC), before=bad),
        "session": session,
    }
    await check_refusal(place, attempts[where], errors.InputError)


@pytest.mark.parametrize("limit", [0, -1, 1001, 10**30, 1.5, "10", True, None, math.nan], ids=repr)
async def test_a_limit_out_of_range_is_refused(place: Place, limit: Any) -> None:
    await check_refusal(place, lambda p: p.operator.list(limit=limit), errors.InputError)
    await check_refusal(
        place, lambda p: p.operator.as_of(datetime.now(UTC), limit=limit), errors.InputError
    )


@pytest.mark.parametrize("choice", ["eternal", "", 0, 5, [], ["episodic"], "a\x00"], ids=repr)
@pytest.mark.parametrize("where", ["tier", "typology", "observe", "observe_many", "heard_from"])
async def test_a_word_that_is_not_in_the_vocabulary_is_refused(
    place: Place, where: str, choice: Any
) -> None:
    attempts: dict[str, Attempt] = {
        "tier": lambda p: p.operator.list(tier=choice),
        "typology": lambda p: p.operator.list(typology=choice),
        "observe": lambda p: p.session.observe("Good.", typology=choice),
        "observe_many": lambda p: p.session.observe_many([Observation("Good.")], typology=choice),
        "heard_from": lambda p: p.session.observe("Good.", heard_from=choice),
    }
    await check_refusal(place, attempts[where], errors.InputError)


BAD_LINKS: dict[str, tuple[Any, Any]] = {
    "an unknown kind": ("coffee", [uuid4()]),
    "a kind of another type": (5, [uuid4()]),
    "a list as kind": (["rule_promotion"], [uuid4()]),
    "no entries": ("rule_promotion", []),
    "1,001 entries": ("rule_promotion", [uuid4() for _ in range(1001)]),
    "a text": ("rule_promotion", str(uuid4())),
    "one id": ("rule_promotion", uuid4()),
    "a number": ("rule_promotion", 5),
    "None": ("rule_promotion", None),
}


@pytest.mark.parametrize(("kind", "entries"), BAD_LINKS.values(), ids=BAD_LINKS)
async def test_an_action_that_rests_on_nothing_sensible_is_refused(
    place: Place, kind: Any, entries: Any
) -> None:
    await check_refusal(
        place, lambda p: p.operator.link_action(uuid4(), kind, entries), errors.InputError
    )


BAD_BATCHES: dict[str, Any] = {
    "None": None, "a number": 5, "a text": "note", "texts": ["note"], "a mapping": {"text": "x"},
    "mappings": [{"text": "x"}], "None inside": [None],
    "10,001 observations": [Observation("Good.")] * 10_001,
}  # fmt: skip


@pytest.mark.parametrize("batch", BAD_BATCHES.values(), ids=BAD_BATCHES)
async def test_a_batch_of_anything_else_is_refused_as_a_whole(place: Place, batch: Any) -> None:
    await check_refusal(place, lambda p: p.session.observe_many(batch), errors.InputError)


async def test_an_empty_batch_is_no_error_and_no_write(place: Place) -> None:
    before = place.rows()
    assert await place.session.observe_many([]) == []
    assert place.rows() == before


# --- scopes -------------------------------------------------------------------------------------

BAD_ANCHORS: dict[str, dict[str, Any]] = {
    "a key missing": {"org_id": uuid4()},
    "the tenant missing": {"domain_id": uuid4()},
    "nothing": {},
    "None": {"org_id": None, "domain_id": uuid4()},
    "an unknown key": {"org_id": uuid4(), "domain_id": uuid4(), "planet": uuid4()},
    "a text": {"org_id": "acme", "domain_id": uuid4()},
    "any": {"org_id": "*", "domain_id": uuid4()},
    "any domain": {"org_id": uuid4(), "domain_id": "*"},
    "a number": {"org_id": 5, "domain_id": uuid4()},
    "bytes": {"org_id": uuid4().bytes, "domain_id": uuid4()},
    "a list": {"org_id": [uuid4()], "domain_id": uuid4()},
    "NUL": {"org_id": "\x00", "domain_id": uuid4()},
    "a surrogate": {"org_id": "\ud800", "domain_id": uuid4()},
}


@pytest.mark.parametrize("anchor", BAD_ANCHORS.values(), ids=BAD_ANCHORS)
async def test_an_anchor_that_does_not_fit_is_refused(place: Place, anchor: dict[str, Any]) -> None:
    async def bind(p: Place) -> Any:
        return p.agent.bind(principal=Principal.agent("explorer"), **anchor)

    await check_refusal(place, bind, errors.AnchorRefused)


BAD_TEXT_ANCHORS = {k: v for k, v in BAD_SHORT.items() if k != "None"} | {
    "any": "*",
    "a separator": "ada\x1factor",
}


@pytest.mark.parametrize("value", BAD_TEXT_ANCHORS.values(), ids=BAD_TEXT_ANCHORS)
@pytest.mark.parametrize("key", ["agent_id", "persona"])
async def test_a_text_anchor_that_does_not_fit_is_refused(
    place: Place, key: str, value: Any
) -> None:
    agent = await place.db.agent("persona_agent")

    async def bind(_: Place) -> Any:
        anchor = {"agent_id": "ada", "persona": "actor", key: value}
        return agent.bind(principal=Principal.agent("explorer"), **anchor)

    await check_refusal(place, bind, errors.AnchorRefused)


@pytest.mark.parametrize("principal", [None, "agent", 5, PrincipalKind.AGENT], ids=repr)
async def test_what_is_no_principal_is_refused(place: Place, principal: Any) -> None:
    async def bind(p: Place) -> Any:
        world = p.world
        return p.agent.bind(principal=principal, org_id=world.org_id, domain_id=world.domain_id)

    await check_refusal(place, bind, errors.AnchorRefused)


@pytest.mark.parametrize("name", BAD_SHORT.values(), ids=BAD_SHORT)
async def test_a_principal_without_a_proper_name_is_refused(place: Place, name: Any) -> None:
    async def make(_: Place) -> Any:
        return Principal.operator(name)

    await check_refusal(place, make, errors.InputError)


@pytest.mark.parametrize("kind", ["boss", "", None, 5, ["agent"]], ids=repr)
async def test_a_principal_of_no_known_kind_is_refused(place: Place, kind: Any) -> None:
    async def make(p: Place) -> Any:
        return p.world.bind(Principal(kind, "eve"))

    await check_refusal(place, make, errors.IdeticError)


async def test_a_kind_of_principal_may_be_given_by_its_name(place: Place) -> None:
    """Equal to the enum's member in every comparison, so it must be as good as one."""
    memory = place.world.bind(Principal("agent", "explorer"))  # type: ignore[arg-type]
    session = await memory.session().open()
    seen = await session.observe("By name.")
    assert (await memory.get(seen.entry_id)).created_by == "agent:explorer"  # type: ignore[arg-type]


async def test_a_scope_with_an_open_key_reads_and_never_writes(place: Place) -> None:
    auditor = place.agent.bind(principal=Principal.auditor("eve"), org_id=place.world.org_id)
    assert await auditor.list()

    async def session(_: Place) -> Any:
        async with auditor.session():
            pass

    await check_refusal(place, session, errors.Refused)
    await check_refusal(
        place, lambda _: auditor.observe("Not mine to say."), errors.CapabilityRefused
    )


# --- what is closed -----------------------------------------------------------------------------

VERBS: dict[str, Callable[[Memory], Awaitable[Any]]] = {
    "prefer": lambda m: m.prefer("Good."),
    "list": lambda m: m.list(),
    "get": lambda m: m.get(uuid4()),
    "history": lambda m: m.history(uuid4()),
    "as_of": lambda m: m.as_of(datetime.now(UTC)),
    "recall": lambda m: m.recall("What?"),
    "archive": lambda m: m.archive(uuid4(), reason="why"),
    "exempt": lambda m: m.exempt(uuid4(), reason="why"),
    "link_action": lambda m: m.link_action(uuid4(), "rule_promotion", [uuid4()]),
    "session": lambda m: m.session().__aenter__(),
}


@pytest.mark.parametrize("verb", ["observe", "observe_many", "prefer"])
@pytest.mark.parametrize("opened", [True, False], ids=["closed", "never opened"])
async def test_a_scope_that_is_not_open_takes_nothing(
    place: Place, verb: str, opened: bool
) -> None:
    session = place.operator.session()
    if opened:
        async with session:
            pass
    argument: Any = [Observation("Late.")] if verb == "observe_many" else "Late."
    await check_refusal(place, lambda _: getattr(session, verb)(argument), errors.ScopeClosed)


async def test_an_interaction_cannot_begin_in_a_closed_session(place: Place) -> None:
    async with place.operator.session() as session:
        pass

    await check_refusal(place, lambda _: session.interaction().__aenter__(), errors.ScopeClosed)


@pytest.fixture(scope="module")
async def closed(place: Place) -> Memory:
    """Memory of a database that was closed behind it."""
    async with Idetic.open(place.database.dsn, admin_dsn=place.database.admin_dsn) as db:
        agent = await db.agent("world_agent")
        return agent.bind(
            principal=Principal.operator("ada"),
            org_id=place.world.org_id,
            domain_id=place.world.domain_id,
        )


@pytest.mark.parametrize("verb", VERBS)
async def test_every_verb_says_that_the_database_is_closed(
    place: Place, closed: Memory, verb: str
) -> None:
    await check_refusal(place, lambda _: VERBS[verb](closed), errors.DatabaseClosed)


@pytest.mark.parametrize("verb", ["observe", "observe_many", "prefer", "list", "close"])
async def test_an_open_session_says_so_too(place: Place, verb: str) -> None:
    db = await Idetic.open(place.database.dsn, admin_dsn=place.database.admin_dsn).start()
    agent = await db.agent("world_agent")
    memory = agent.bind(
        principal=Principal.operator("ada"),
        org_id=place.world.org_id,
        domain_id=place.world.domain_id,
    )
    session = await memory.session().__aenter__()
    await db.close()
    attempts: dict[str, Attempt] = {
        "observe": lambda _: session.observe("x"),
        "observe_many": lambda _: session.observe_many([Observation("x")]),
        "prefer": lambda _: session.prefer("x"),
        "list": lambda _: session.list(),
        "close": lambda _: session.close(),
    }
    await check_refusal(place, attempts[verb], errors.DatabaseClosed)


SYNC_VERBS: dict[str, Callable[[Any], Any]] = {
    "prefer": lambda m: m.prefer("Good."),
    "list": lambda m: m.list(),
    "get": lambda m: m.get(uuid4()),
    "recall": lambda m: m.recall("What?"),
    "history": lambda m: m.history(uuid4()),
    "as_of": lambda m: m.as_of(datetime.now(UTC)),
    "archive": lambda m: m.archive(uuid4(), reason="why"),
    "session": lambda m: m.session().__enter__(),
}


@pytest.fixture(scope="module")
def closed_sync(place: Place) -> Any:
    """The same memory through the sync API, its database closed behind it."""
    with open_sync(place.database.dsn, admin_dsn=place.database.admin_dsn) as db:
        memory = db.agent("world_agent").bind(
            principal=Principal.operator("ada"),
            org_id=place.world.org_id,
            domain_id=place.world.domain_id,
        )
        assert isinstance(memory.list(), list)
        return memory


@pytest.mark.parametrize("verb", SYNC_VERBS)
def test_the_sync_handles_say_so_too(closed_sync: Any, verb: str) -> None:
    with pytest.raises(IdeticError) as caught:
        SYNC_VERBS[verb](closed_sync)
    check_clear(caught.value, errors.DatabaseClosed)


DATABASE_VERBS: dict[str, Callable[[Idetic], Awaitable[Any]]] = {
    "agent": lambda db: db.agent("world_agent"),
    "plan": lambda db: db.plan("world_agent"),
    "apply": lambda db: db.apply("world_agent"),
    "spec_versions": lambda db: db.spec_versions(),
    "distribute": lambda db: db.distribute("world_agent"),
}


@pytest.mark.parametrize("verb", DATABASE_VERBS)
@pytest.mark.parametrize("opened", [True, False], ids=["closed", "never opened"])
async def test_a_database_that_is_not_open_says_so(place: Place, verb: str, opened: bool) -> None:
    db = Idetic.open(place.database.dsn, admin_dsn=place.database.admin_dsn)
    if opened:
        async with db:
            pass
    await check_refusal(place, lambda _: DATABASE_VERBS[verb](db), errors.DatabaseClosed)


async def test_a_database_closes_twice(place: Place) -> None:
    db = Idetic.open(place.database.dsn, admin_dsn=place.database.admin_dsn)
    await db.close()
    async with db:
        await db.close()
    await db.close()
    await check_refusal(place, lambda _: db.spec_versions(), errors.DatabaseClosed)


# --- databases and specs that are none ---------------------------------------------------------

BAD_SPECS: dict[str, Any] = {
    "an unknown name": "nobody_agent", "empty": "", "a number": 5, "None": None, "a list": [],
    "an empty mapping": {}, "a file that is not there": "/nowhere/agent.yaml", "a NUL": "a\x00b",
    "a surrogate": "\ud800", "a long name": "x" * 100_000, "a deep mapping": {"agent": nested(500)},
}  # fmt: skip


@pytest.mark.parametrize("spec", BAD_SPECS.values(), ids=BAD_SPECS)
@pytest.mark.parametrize("verb", ["agent", "plan", "apply"])
async def test_a_spec_that_is_none_is_refused(place: Place, verb: str, spec: Any) -> None:
    before = place.rows("idetic")
    with pytest.raises(IdeticError) as caught:
        await getattr(place.db, verb)(spec)
    assert isinstance(caught.value, errors.SpecError), f"{type(caught.value)}: {caught.value}"
    assert not LEAKED.search(str(caught.value)), str(caught.value)
    assert str(caught.value).endswith(caught.value.remedy)
    assert place.rows("idetic") == before


BAD_DSNS: dict[str, Any] = {
    "a number": 5, "empty": "", "blank": "  ", "bytes": b"postgresql://", "a list": [],
}  # fmt: skip


@pytest.mark.parametrize("dsn", BAD_DSNS.values(), ids=BAD_DSNS)
def test_a_dsn_that_is_none_is_refused(dsn: Any) -> None:
    with pytest.raises(IdeticError) as caught:
        Idetic.open(dsn)
    check_clear(caught.value, errors.InputError)


@pytest.mark.parametrize("home", [5, b"/tmp/x", ["x"]], ids=repr)
def test_a_home_that_is_none_is_refused(home: Any) -> None:
    with pytest.raises(IdeticError) as caught:
        Idetic.open(home=home)
    check_clear(caught.value, errors.InputError)


@pytest.mark.parametrize(
    "dsn", ["not a dsn", "postgresql://[::1", "port=nothing", "host=/nowhere/at/all", "a\x00b"],
    ids=ascii,
)  # fmt: skip
async def test_a_dsn_that_leads_nowhere_is_a_database_that_does_not_answer(dsn: str) -> None:
    with pytest.raises(IdeticError) as caught:
        await Idetic.open(dsn).start()
    check_clear(caught.value, errors.DatabaseUnavailable)
