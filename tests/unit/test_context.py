"""Injection: blocks in a stable order, priorities, one ceiling, and an honest "I don't know"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from idetic.errors import InputError
from idetic.model import Entry, Origin, Ref, Tier, Typology
from idetic.recall.context import Context, ContextCoverage, Eviction, assemble
from idetic.recall.evidence import FOOTER, HEADER
from idetic.recall.hits import Hit, NotUsed, Recall
from idetic.recall.tokens import ConservativeCounter, TokenCounter
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import FusionMethod, Injection, Presence, PromptBlock, SourceStrength

SPEC = load("world_agent")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNTER = ConservativeCounter()


class Lengths:
    """One token a character: sums can be told in advance."""

    name = "lengths"

    def count(self, text: str) -> int:
        return len(text)


def entry(number: int, tier: Tier = Tier.SESSION, text: str = "note", **more: Any) -> Entry:
    made: dict[str, Any] = {
        "id": UUID(int=number),
        "anchor": {},
        "tier": tier,
        "typology": Typology.EPISODIC,
        "body_text": f"{text} {number:02}",
        "envelope": {},
        "origin": Origin.AGENT,
        "trust": 60,
        "created_at": AT,
        "created_by": "explorer",
        "spec_version": 1,
    }
    return Entry(**(made | more))


def recalled(
    *entries: Entry, strength: SourceStrength | None = None, not_used: tuple[NotUsed, ...] = ()
) -> Recall:
    hits = tuple(Hit(entry, 1.0 / place, {}, strength) for place, entry in enumerate(entries, 1))
    return Recall("limits?", hits, FusionMethod.RRF, {}, 9, 9, AT, not_used=not_used)


def context(
    transient: Sequence[Entry] = (),
    recall: Recall | None = None,
    *,
    spec: MemorySpec = SPEC,
    counter: TokenCounter = COUNTER,
    budget: int | None = None,
) -> Context:
    by_tier: Mapping[Tier, Sequence[Entry]] = {
        tier: [entry for entry in transient if entry.tier is tier] for tier in Tier
    }
    return assemble(
        spec, query="limits?", transient=by_tier, recall=recall, counter=counter, budget=budget
    )


def spec_with(ceiling: int, **blocks: tuple[int, int, Presence]) -> MemorySpec:
    made = {n: PromptBlock(budget=b, priority=p, presence=w) for n, (b, p, w) in blocks.items()}
    return SPEC.model_copy(update={"injection": Injection(ceiling=ceiling, **made)})  # type: ignore[arg-type]


def numbers(context: Context) -> list[int]:
    return [each.entry_id.int for each in context.included]


def left_out(context: Context) -> dict[int, Eviction]:
    return {each.entry_id.int: each.reason for each in context.evicted}


# --- the text -----------------------------------------------------------------------------


def test_the_blocks_stand_in_order_of_their_stability() -> None:
    made = context(
        [entry(4, Tier.INTERACTION), entry(3)], recalled(entry(2, Tier.PERSISTENT), entry(1))
    )
    lines = made.text.splitlines()
    assert lines[0] == HEADER.strip()
    assert [line for line in lines if line.startswith("#")] == [
        "# persistent",
        "# session",
        "# interaction",
    ]
    assert [line.split(" > ")[1] for line in lines if " > " in line] == [
        f"explorer: note {number}" for number in ("02", "01", "03", "04")
    ]
    assert lines[-1] == FOOTER
    assert (made.unknown, made.evicted) == (None, ())


def test_within_a_block_time_orders_and_not_the_score() -> None:
    hits = [entry(n, Tier.PERSISTENT) for n in (5, 1, 3)]
    assert numbers(context(recall=recalled(*hits))) == [1, 3, 5]
    assert context(recall=recalled(*hits)) == context(recall=recalled(*hits[::-1]))


def test_a_newer_entry_is_only_appended() -> None:
    hits = recalled(entry(9, Tier.PERSISTENT))
    before = context([entry(1), entry(2)], hits)
    after = context([entry(3), entry(2), entry(1)], hits)
    stable = before.text.removesuffix(FOOTER)
    assert after.text.startswith(stable)
    assert after.text.removeprefix(stable).splitlines() == [
        "000003 note agent 01Mar > explorer: note 03",
        FOOTER,
    ]


def test_the_whole_text_is_what_is_counted() -> None:
    made = context([entry(1)])
    assert made.tokens == COUNTER.count(made.text) <= made.ceiling == SPEC.injection.ceiling


def test_each_entry_tells_what_it_adds_to_its_block() -> None:
    made = context([entry(1), entry(2, text="Two lines,\nand no more.")])
    assert len(made.included) == 2
    for one, told in zip(made.included, made.text.split("\n0")[1:], strict=True):
        assert one.tokens == COUNTER.count(f"0{told.partition('End of')[0].rstrip()}\n")


def test_an_entry_present_and_recalled_appears_once_with_its_source_s_strength() -> None:
    both = entry(1, refs=(Ref("rule", UUID(int=7), 1),))
    made = context([both], recalled(both, strength=SourceStrength.CURATED))
    assert numbers(made) == [1]
    assert made.text.count("> explorer: note 01") == 1
    assert " curated rule > " in made.text
    assert f"\ncurated: {SPEC.visibility.hedges[SourceStrength.CURATED]}.\n" in made.text
    assert "curated" not in context([both]).text


def test_no_score_reaches_the_text() -> None:
    hit = Hit(entry(1, Tier.PERSISTENT), 0.87654321, {})
    made = Recall("q", (hit,), FusionMethod.RRF, {}, 1, 1, AT)
    assert "0.87" not in context(recall=made).text


# --- what gives way -----------------------------------------------------------------------


def test_within_a_block_s_budget_the_newest_stay() -> None:
    size = context([entry(1)]).included[0].tokens
    session = (size * 3 + COUNTER.count("# session\n"), 70, Presence.ALWAYS)
    made = context([entry(n) for n in range(1, 8)], spec=spec_with(4000, session=session))
    assert numbers(made) == [5, 6, 7]
    assert left_out(made) == dict.fromkeys((4, 3, 2, 1), Eviction.BLOCK_BUDGET)


def test_of_the_recalled_the_best_stay() -> None:
    size = context([entry(1)]).included[0].tokens
    persistent = (size * 2 + 20, 50, Presence.ON_DEMAND)
    hits = [entry(n, Tier.PERSISTENT) for n in (2, 5, 1, 4)]
    made = context(recall=recalled(*hits), spec=spec_with(4000, persistent=persistent))
    assert numbers(made) == [2, 5]
    assert left_out(made) == dict.fromkeys((1, 4), Eviction.BLOCK_BUDGET)


def test_an_old_entry_that_answers_the_question_outlasts_newer_ones() -> None:
    size = context([entry(1)]).included[0].tokens
    session = (size * 2 + 20, 70, Presence.ALWAYS)
    present = [entry(n) for n in range(1, 8)]
    made = context(present, recalled(entry(2)), spec=spec_with(4000, session=session))
    assert numbers(made) == [2, 7]


def test_above_the_ceiling_the_lowest_priority_gives_way_first() -> None:
    present = [entry(3, Tier.INTERACTION), entry(2)]
    hits = recalled(entry(1, Tier.PERSISTENT))
    whole = len(context(present, hits, counter=Lengths()).text)
    for budget, kept in ((whole + 3, [1, 2, 3]), (whole - 1, [2, 3]), (whole - 75, [3])):
        made = context(present, hits, counter=Lengths(), budget=budget)
        assert numbers(made) == kept
        assert set(left_out(made).values()) <= {Eviction.CEILING}


def test_the_spec_s_priorities_decide_and_not_the_tiers() -> None:
    spec = spec_with(
        4000,
        persistent=(1600, 99, Presence.ON_DEMAND),
        interaction=(1200, 10, Presence.ALWAYS),
    )
    made = context(
        [entry(3, Tier.INTERACTION)],
        recalled(entry(1, Tier.PERSISTENT)),
        spec=spec,
        counter=Lengths(),
        budget=220,
    )
    assert numbers(made) == [1]


def test_one_oversized_entry_does_not_empty_the_context() -> None:
    huge = entry(9, text="漢" * 2000)
    made = context([huge, entry(1), entry(2)])
    assert numbers(made) == [1, 2]
    assert left_out(made) == {9: Eviction.BLOCK_BUDGET}


def test_an_entry_above_the_ceiling_alone_takes_no_other_with_it() -> None:
    long, hit = entry(9, text="word " * 60), entry(1, Tier.PERSISTENT)
    made = context([long], recalled(hit), counter=Lengths(), budget=350)
    assert numbers(made) == [1]
    assert left_out(made) == {9: Eviction.CEILING}


def test_a_tier_on_demand_is_not_there_unless_recalled() -> None:
    spec = spec_with(4000, session=(1200, 70, Presence.ON_DEMAND))
    made = context([entry(1), entry(2)], recalled(entry(2)), spec=spec)
    assert numbers(made) == [2]
    assert left_out(made) == {1: Eviction.NOT_RECALLED}
    # The persistent tier is the one that is so by the spec's own choice.
    assert SPEC.injection.persistent.presence is Presence.ON_DEMAND
    known = [entry(1, Tier.PERSISTENT), entry(2, Tier.PERSISTENT)]
    assert numbers(context(known, recalled(known[1]))) == [2]


def test_a_persistent_tier_may_be_always_present() -> None:
    spec = spec_with(4000, persistent=(1600, 50, Presence.ALWAYS))
    assert numbers(context([entry(1, Tier.PERSISTENT)], spec=spec)) == [1]


# --- ceilings -----------------------------------------------------------------------------


def test_the_budget_only_lowers_the_ceiling() -> None:
    assert context(budget=10).ceiling == 10
    assert context(budget=10**9).ceiling == SPEC.injection.ceiling


@pytest.mark.parametrize("budget", [0, -1, 1.0, "9", True, float("nan")])
def test_a_budget_is_a_whole_number_above_0(budget: Any) -> None:
    with pytest.raises(InputError, match="whole number"):
        context([entry(1)], budget=budget)


def test_a_query_is_a_text() -> None:
    with pytest.raises(InputError, match="text"):
        assemble(SPEC, query=None, transient={}, recall=None, counter=COUNTER)  # type: ignore[arg-type]


def test_where_no_entry_fits_the_text_says_so() -> None:
    made = context([entry(1)], budget=30)
    assert made.text == "I don't know: nothing that memory holds fits into 30 tokens."
    assert made.unknown == "nothing that memory holds fits into 30 tokens"
    assert left_out(made) == {1: Eviction.CEILING}


def test_where_not_even_that_fits_the_text_is_short_or_empty() -> None:
    assert context([entry(1)], budget=12).text == "I don't know."
    made = context([entry(1)], budget=1)
    assert (made.text, made.tokens) == ("", 0)
    assert made.unknown


def test_a_counter_to_which_the_whole_is_more_than_its_parts_is_obeyed() -> None:
    class Square:
        name = "square"

        def count(self, text: str) -> int:
            return len(text) ** 2 // 200

    made = context([entry(n) for n in range(20)], counter=Square(), budget=2000)
    assert 0 < made.tokens <= 2000
    assert numbers(made) == list(range(20 - len(made.included), 20))


# --- coverage -----------------------------------------------------------------------------


def test_a_text_that_tells_a_part_of_what_was_found_says_so() -> None:
    size = context([entry(1)]).included[0].tokens
    persistent = (size * 2 + 20, 50, Presence.ON_DEMAND)
    hits = recalled(*(entry(n, Tier.PERSISTENT) for n in (2, 5, 1, 4)))
    made = context([entry(9)], hits, spec=spec_with(4000, persistent=persistent))
    assert made.coverage == ContextCoverage(considered=9, found=4, told=2, pending=0)
    assert made.text.splitlines()[-2:] == ["Note: of 4 entries found, 2 fit here.", FOOTER]
    # Control: the whole is told, and nothing is said about it.
    whole = context([entry(9)], hits)
    assert whole.coverage == ContextCoverage(considered=9, found=4, told=4, pending=0)
    assert "Note" not in whole.text


def test_coverage_is_unknown_where_nothing_was_searched() -> None:
    assert context([entry(1)]).coverage is None
    assert context(recall=recalled()).coverage == ContextCoverage(9, 0, 0, 0)


def test_to_say_so_costs_no_entry_and_no_ceiling() -> None:
    hits = recalled(*(entry(n, Tier.PERSISTENT) for n in (2, 5)))
    whole = context(recall=hits, counter=Lengths()).tokens
    said = set()
    for budget in range(whole - 40, whole):
        made = context(recall=hits, counter=Lengths(), budget=budget)
        assert made.tokens <= budget
        assert made.coverage == ContextCoverage(9, 2, 1, 0)
        assert numbers(made) == [2]
        said.add("Note: of 2 entries found, 1 fit here." in made.text)
    assert said == {True, False}, "it is said where there is room, and only there"


# --- "I don't know" and what was missing --------------------------------------------------


def test_without_anything_it_does_not_know() -> None:
    made = context()
    assert made.text == "I don't know: memory was not searched."
    blank = assemble(SPEC, query=" ", transient={}, recall=None, counter=COUNTER)
    assert blank.unknown == "nothing was asked"


def test_a_recall_that_found_nothing_is_said_beside_what_is_present() -> None:
    assert (
        context(recall=recalled()).text == "I don't know: recall found nothing for this question."
    )
    made = context([entry(1)], recalled())
    assert made.unknown == "recall found nothing for this question"
    assert made.text.splitlines()[-3:] == [
        "000001 note agent 01Mar > explorer: note 01",
        "I don't know: recall found nothing for this question.",
        FOOTER,
    ]


def test_present_entries_without_a_question_are_enough() -> None:
    assert context([entry(1)]).unknown is None


def test_what_recall_did_without_is_noted_without_its_reasons() -> None:
    missing = (
        NotUsed("semantic", "There is no model in /home/me/.cache.", "Install it."),
        NotUsed("envelope", "the question came without an envelope", "Pass one."),
    )
    made = context(recall=recalled(entry(1, Tier.PERSISTENT), not_used=missing))
    assert made.text.splitlines()[-2:] == ["Note: recalled without semantic.", FOOTER]
    assert made.not_used == missing
    only_envelope = context(recall=recalled(entry(1, Tier.PERSISTENT), not_used=missing[1:]))
    assert "Note" not in only_envelope.text


def test_a_note_never_costs_the_only_entry() -> None:
    hits = recalled(entry(1, Tier.PERSISTENT), not_used=(NotUsed("semantic " * 40, "-", "-"),))
    made = context(recall=hits, budget=150)
    assert numbers(made) == [1]
    assert "Note" not in made.text
    assert made.not_used
