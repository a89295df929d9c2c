"""Telemetry tells what memory does, and never what it says.

A canary stands in every text of every verb. With telemetry at its most talkative, it is in no log
line, no span and no metric; and when the filter is taken away, the same search finds it.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from idetic import Claim, Idetic, Observation, Principal, Rule, errors, telemetry
from idetic.evidence import ContradictionStatus, Outcome
from idetic.jobs.worker import Worker
from idetic.telemetry import record
from idetic.telemetry.record import Metric
from idetic.telemetry.recorders import OpenTelemetry, to_stream
from tests.conftest import RULE_TEXT, TestDatabase, World
from tests.support.clock import SettableClock
from tests.support.moving import exported
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio
SHARED = True

CANARY = "zqxcanary"
OPERATIONS = (
    "observe prefer adopt link_action archive exempt open close settle recall export import job"
).split()


@dataclass
class Heard:
    """Everything that was recorded, as text and as what OpenTelemetry made of it."""

    log: io.StringIO = field(default_factory=io.StringIO)
    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)

    def everything(self) -> str:
        data = self.reader.get_metrics_data()
        spans = [span.to_json() for span in self.spans.get_finished_spans()]
        return "\n".join([self.log.getvalue(), *spans, data.to_json() if data else ""])

    def lines(self) -> list[dict[str, Any]]:
        text = self.log.getvalue().splitlines()
        return [json.loads(line) for line in text if line.startswith("{")]

    def metrics(self) -> dict[str, list[Any]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        found: dict[str, list[Any]] = {}
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] = list(metric.data.data_points)
        return found


@pytest.fixture
def heard() -> Iterator[Heard]:
    """Logs at DEBUG, spans and metrics, all of them kept in memory."""
    made = Heard()
    tracing, metering = TracerProvider(), MeterProvider([made.reader])
    tracing.add_span_processor(SimpleSpanProcessor(made.spans))
    everything = logging.getLogger()
    before = everything.level, everything.handlers[:]
    everything.setLevel(logging.DEBUG)
    everything.addHandler(logging.StreamHandler(made.log))
    log = to_stream(logging.DEBUG, made.log)
    telemetry.use(log, OpenTelemetry(tracing.get_tracer("t"), metering.get_meter("m")))
    yield made
    telemetry.use()
    everything.level, everything.handlers[:] = before
    tracing.shutdown()
    metering.shutdown()


async def every_verb(world: World, db: Idetic, folder: Path) -> None:
    """Every verb, with the canary in every text that it takes."""
    said = f"{CANARY} said so"
    operator, memory = world.operator, world.memory
    upkeep, auditor = world.bind(Principal.maintenance("w")), world.bind(Principal.auditor("b"))
    async with memory.session() as session, session.interaction() as turn:
        seen = await turn.observe(
            f"The {CANARY} left out standing orders.", claim=Claim(CANARY, "covered", CANARY),
            envelope={"topic": f"payments/{CANARY}", "tags": [CANARY]}, refs=[Rule(world.rule.id)],
            provenance={"world_model_version": CANARY}, idempotency_key=CANARY,
        )  # fmt: skip
        await turn.observe_many([Observation(f"{CANARY} {n}") for n in range(3)])
        await turn.recall(f"what of {CANARY}?", envelope={"tags": [CANARY]})
        await turn.context(f"what of {CANARY}?")
        with pytest.raises(errors.ShadowRefused):
            await turn.observe(f"{RULE_TEXT} {CANARY}")
        with pytest.raises(errors.InputError):
            await turn.observe(CANARY * 1_000)
        await session.renew()
    assert seen.entry_id
    await every_verb_of_an_operator(world)
    candidates = [e.id for e in await operator.list() if e.candidate]
    await operator.dispose(candidates, Outcome.PROMOTE, reason=said)
    await upkeep.consolidate()
    await upkeep.promote()
    await upkeep.rescan()
    await operator.quarantine(reason=said, created_by=f"agent:{CANARY}")
    path = folder / f"{CANARY}.jsonl"
    await operator.export_to(path)
    with pytest.raises(errors.AnchorTaken):
        await operator.import_from(path)
    await auditor.verify()
    await Worker(db).drain()
    await operator.erase(f"{CANARY} Nobody", reason="request 1")
    assert CANARY.encode() in await exported(operator), "control: it is in memory"


async def every_verb_of_an_operator(world: World) -> None:
    said, operator, memory = f"{CANARY} said so", world.operator, world.memory
    one = await operator.prefer(f"Do as {CANARY}.", claim=Claim(CANARY, "way", "1"))
    two = await operator.prefer(f"Not as {CANARY}.", claim=Claim(CANARY, "way", "2"))
    assert one.entry_id
    assert two.entry_id
    action = uuid4()
    await operator.link_action(action, "rule_promotion", [two.entry_id], reason=said)
    done = await vouch(operator, two.entry_id, notes=said)
    await operator.undo(done, reason=said)
    await operator.contradict(two.entry_id, Rule(world.rule.id), reason=said)
    (open_one,) = await operator.contradictions()
    await operator.resolve(open_one.id, ContradictionStatus.DISMISSED, notes=said)
    three = await operator.prefer(f"Third {CANARY}.", claim=Claim(CANARY, "third", "3"))
    assert three.entry_id
    await operator.exempt(three.entry_id, reason=said)
    await operator.archive(three.entry_id, reason=said)
    with pytest.raises(errors.TransitionRefused):
        await operator.exempt(one.entry_id, reason=said)
    with pytest.raises(errors.WritePolicyRefused):
        await memory.observe(f"A {CANARY} of its own.")
    with pytest.raises(errors.CapabilityRefused):
        await memory.prefer(f"Prefer {CANARY}.")
    await operator.adopt("mem0", [{"id": CANARY, "memory": f"Mem0 knew {CANARY}."}])
    await world.bind(Principal.auditor("b")).explain_action(action)
    tombed = await operator.prefer(f"Fourth {CANARY}.", claim=Claim(CANARY, "fourth", "4"))
    assert tombed.entry_id
    await operator.tombstone(tombed.entry_id, reason=said)


async def test_a_canary_in_every_text_is_in_no_line_no_span_and_no_metric(
    world: World, db: Idetic, heard: Heard, tmp_path: Path
) -> None:
    await every_verb(world, db, tmp_path)
    told = heard.everything()
    assert CANARY not in told.lower()
    operations = {line["event"] for line in heard.lines()}
    wanted = (
        "observe prefer adopt link_action archive exempt open close settle recall export import job"
    )
    assert {f"memory.{one}" for one in wanted.split()} <= operations
    names = {span.name for span in heard.spans.get_finished_spans()}
    assert {f"gen_ai.memory.{one}" for one in wanted.split()} <= names
    # In what was read before: reading takes the gauges.
    assert [metric.title for metric in Metric if f'"{metric.title}"' not in told] == []


async def test_control_without_the_filter_the_same_search_finds_it(
    world: World, db: Idetic, heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question of a recall is passed to telemetry whole: the filter alone makes it a length."""
    monkeypatch.setattr(record, "safe", lambda given: {k: str(v) for k, v in given.items()})
    await world.memory.recall(f"what of {CANARY}?")
    assert CANARY in heard.log.getvalue()
    assert CANARY in "".join(span.to_json() for span in heard.spans.get_finished_spans())


def test_a_text_that_reaches_the_filter_leaves_as_its_length() -> None:
    told = record.safe(
        {"body": CANARY, "raw": CANARY.encode(), "many": [CANARY], "map": {CANARY: 1},
         "name": telemetry.Name(f"{CANARY} with a blank"), "long": telemetry.Name("x" * 65),
         "error": ValueError(CANARY), "none": None, "n": 3, "nan": float("nan")}
    )  # fmt: skip
    assert CANARY not in str(told)
    assert told == {
        "body_length": 9, "raw_length": 9, "many_count": 1, "map_count": 1, "name_length": 22,
        "long_length": 65, "n": 3, "nan": 0.0,
    }  # fmt: skip


def plain(attributes: Any) -> dict[str, Any]:
    return {key.rpartition(".")[2]: value for key, value in attributes.items()}


async def test_what_is_measured_is_what_happened(world: World, heard: Heard) -> None:
    stated = await world.operator.prefer("Be brief.", claim=Claim("output", "style", "brief"))
    async with world.memory.session() as session:
        with pytest.raises(errors.ShadowRefused):
            await session.observe(RULE_TEXT)
        await session.observe("Seen.", claim=Claim("a", "b", "c"))
    for _ in range(3):
        await world.operator.recall("How brief?")
    lines = {line["event"]: line for line in heard.lines()}
    prefer = lines["memory.prefer"]
    assert (prefer["decision"], prefer["position"]) == ("ADD", stated.position)
    assert (prefer["entry"], prefer["receipt"]) == (str(stated.entry_id), str(stated.id))
    assert prefer["outcome"] == "ok"
    assert lines["memory.recall"]["query_length"] == len("How brief?")
    assert lines["memory.recall"]["hits"] >= 1
    metrics = heard.metrics()

    def total(metric: Metric, **wanted: Any) -> float:
        return sum(
            float(getattr(point, "value", 0) or getattr(point, "count", 0))
            for point in metrics[metric.title]
            if wanted.items()
            <= {k.rpartition(".")[2]: v for k, v in point.attributes.items()}.items()
        )

    assert total(Metric.REJECTIONS, reason="shadow") == 1
    assert total(Metric.PROMOTIONS, transition="proposed") == 1
    assert total(Metric.OPERATIONS, operation="recall", outcome="ok") == 3
    assert total(Metric.CACHE_LOOKUPS, hit=True) >= 1
    assert total(Metric.WRITES, decision="REJECT") == 1


async def test_a_refusal_is_an_event_of_its_own(world: World, heard: Heard) -> None:
    """Also in a batch, which raises nothing; the control is a batch in which all is well."""
    async with world.memory.session() as session:
        await session.observe_many([Observation("All is well."), Observation("It is, too.")])
        assert not [one for one in heard.lines() if one["event"] == "memory.rejected"]
        await session.observe_many([Observation("Fine."), Observation(RULE_TEXT)])
        with pytest.raises(errors.ShadowRefused):
            await session.observe(RULE_TEXT)
        with pytest.raises(errors.GateRefused):
            await session.observe("4111 1111 1111 1111")
    refused = [one for one in heard.lines() if one["event"] == "memory.rejected"]
    assert {one["level"] for one in refused} == {"warning"}
    assert [one["reason"] for one in refused] == ["shadow", "shadow", "gate"]
    assert refused[0]["similarity"] > 0.85
    batches = [one["outcome"] for one in heard.lines() if one["event"] == "memory.observe_many"]
    writes = [
        one for one in heard.lines() if "rejected" in one and one["event"] != "memory.rejected"
    ]
    assert [one["outcome"] for one in writes if one["rejected"]] == ["rejected"], batches
    spans = [span for span in heard.spans.get_finished_spans() if span.events]
    assert [span.events[0].name for span in spans] == ["gen_ai.memory.rejected"] * 3


async def test_the_backlog_is_measured_at_each_sweep(
    database: TestDatabase, heard: Heard, world: World
) -> None:
    async with world.memory.session() as session:
        await session.observe("Leaves work behind.")
    async with Idetic.open(database.dsn, clock=SettableClock()) as db:
        await Worker(db, handlers={}).drain()
    ages = heard.metrics()[Metric.BACKLOG_AGE.title]
    tasks = {point.attributes["gen_ai.memory.task"]: point.value for point in ages}
    assert {"embed", "consolidate"} <= set(tasks)


async def test_nothing_is_recorded_until_somebody_listens(world: World, heard: Heard) -> None:
    telemetry.use()
    await world.operator.prefer("Be brief.", claim=Claim("output", "style", "brief"))
    await world.operator.recall("brief")
    assert not telemetry.recording()
    assert heard.spans.get_finished_spans() == ()
    assert heard.lines() == []
