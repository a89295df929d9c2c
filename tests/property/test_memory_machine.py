"""Whatever is done in whatever order, memory does what a plain Python model says it does.

Three anchors, two tenants; agents, operators and the upkeep in each; every verb; idempotency
keys used again with the same and with another body; scopes closed, closed twice, abandoned and
recovered; decisions taken back and back again. After every step all anchors must hold exactly what
the model holds, their ledgers must show exactly the links it wrote down, and every promise of
`promises.py` must hold. `IDETIC_FAULTS=1` runs the long form.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from idetic.embed.port import Embedder
from idetic.evidence import ContradictionStatus
from tests.conftest import TestDatabase
from tests.property.machine import ADA, AGENTS, SCOUT
from tests.property.maturing_rules import MaturingRules
from tests.property.writing_rules import SAID
from tests.support.chain import jsonb_text
from tests.support.databases import copy_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.servers import TestServer

LONG = bool(os.environ.get("IDETIC_FAULTS"))
EVERY_OUTCOME = {"ADD", "UPDATE", "NOOP", "REJECT", "replay", "IdempotencyConflict"} | {
    "ScopeClosed", "CapabilityRefused", "TransitionRefused", "EntryNotFound", "NotFound",
    "ReferenceNotFound", "recovered", "compounded", "recurred", "proposed", "held", "promoted",
    "invalidated", "superseded", "dropped", "undone", "corroboration_failed", "archived",
    "corroborated", "replayed", "kept", "worn down", "SourceRefused",
}  # fmt: skip


class MemoryMachine(MaturingRules):
    """The rules are the verbs; the model says what each of them must answer."""


@pytest.fixture(scope="module")
def machine_database(server: TestServer, template: str) -> Iterator[TestDatabase]:
    """One database for every example; each example brings anchors of its own."""
    with copy_of(server, template) as database:
        yield database


def run(embedder: Embedder | None, examples: int) -> None:
    MemoryMachine.embedder = embedder
    with start_blocking_portal() as MemoryMachine.portal:
        run_state_machine_as_test(
            MemoryMachine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=80 if LONG else 45,
                deadline=None,
                derandomize=not LONG,
                database=None,
                print_blob=LONG,
                suppress_health_check=list(HealthCheck),
            ),
        )


def test_memory_does_what_the_model_says(machine_database: TestDatabase) -> None:
    """By words alone and with vectors: what is the same does not depend on a model."""
    MemoryMachine.database = machine_database
    MemoryMachine.met = Counter()
    run(None, 100 if LONG else 6)
    run(FakeEmbedder(), 50 if LONG else 3)
    if LONG:
        assert set(MemoryMachine.met) >= EVERY_OUTCOME


def test_the_rules_reach_every_outcome(machine_database: TestDatabase) -> None:
    """The same rules by hand: no outcome is left to chance."""
    MemoryMachine.database, MemoryMachine.embedder = machine_database, None
    MemoryMachine.met = Counter()
    with start_blocking_portal() as MemoryMachine.portal:
        machine = MemoryMachine()
        try:
            for _ in by_hand(machine):
                machine.memory_is_what_the_model_says_and_keeps_every_promise()
        finally:
            machine.teardown()
    met = MemoryMachine.met
    assert set(met) >= EVERY_OUTCOME, f"not met: {EVERY_OUTCOME - set(met)}"


def by_hand(machine: MemoryMachine) -> Iterator[object]:
    """One rule after the other; entry 1 is the newest persistent one that lives, 2 the newest."""
    opened: Any = machine.open_database()
    ours, theirs, _ = opened.values
    ada, agent = ADA, SCOUT
    five, six, brief, full, restated = (SAID[n] for n in (2, 5, 6, 7, 8))
    yield machine.agree(0, [five], 2, 0, AGENTS)
    yield machine.agree(0, [six], 2, 0, AGENTS)
    yield machine.archive_or_exempt(2, ada, 0, "archive", "obsolete", None)
    yield machine.undo(0, 0, ada, possible=True, key=None)
    yield machine.corroborate(1, agent, 0, None, holds=True, key=None)
    yield machine.corroborate(1, agent, 0, None, holds=True, key=None)
    yield machine.corroborate(1, agent, 0, 2, holds=True, key=None)
    yield machine.corroborate_well(1, 0, 3, holds=False)
    yield machine.prefer(None, 0, ada, brief, "k1")
    yield machine.prefer(None, 0, ada, full, None)
    yield machine.prefer(None, 0, agent, full, None)
    yield machine.send_again(0)
    yield machine.prefer(None, 0, ada, five, "k1")
    yield machine.observe(ours, restated, None)
    for verb, abroad in (("archive", 0), ("archive", 0), ("exempt", 0), ("exempt", 1)):
        yield machine.archive_or_exempt(2, ada, abroad, verb, "obsolete", None)
    yield machine.contradict(2, ada, 1, None)
    yield machine.undo(0, 0, ada, possible=False, key=None)
    yield (dispute := machine.contradict(2, ada, 0, None))
    for status in (ContradictionStatus.SURFACED, ContradictionStatus.DISMISSED):
        yield machine.resolve(dispute, ada, 0, status, None)
    for back in (0, 0, 0):
        yield machine.undo(0, back, ada, possible=True, key=None)
        yield machine.look_at_the_queue()
    yield machine.observe(ours, SAID[0], None)
    yield machine.close(ours)
    yield machine.observe(ours, five, None)
    yield machine.time_passes_and_the_abandoned_are_closed(theirs.anchor, 61)


characters = st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00")
words = st.text(characters, max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def postgres(server: TestServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        yield connection


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(values=st.lists(json_values, min_size=1, max_size=8))
def test_the_chain_is_recomputed_in_postgresqls_own_json(
    postgres: psycopg.Connection, values: list[Any]
) -> None:
    row = postgres.execute("SELECT %s::jsonb::text", (json.dumps(values),)).fetchone()
    assert row == (jsonb_text(values),)
