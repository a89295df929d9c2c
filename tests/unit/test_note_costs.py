"""What a note costs in a prompt, label included, by models' tokenizers and by our own counter.

Our own counter errs on the side of too many, so by it only shorter sentences keep the promise.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import tiktoken
import yaml

from idetic.model import Entry, Origin, Ref, Tier, Typology
from idetic.recall.evidence import HEADER, render
from idetic.recall.tokens import ConservativeCounter
from idetic.spec.primitives import SourceStrength
from tests.support.docs import ROOT

COUNTER = ConservativeCounter()
# The words of a sentence that always fits, to models, and of one that mostly does. To our own
# counter those of so many characters fit that half of the demo world's have.
ALWAYS, MOSTLY = 19, 25
BY_OURS = 58
TOKENS = 45
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
KINDS: dict[str, dict[str, Any]] = {
    "note": {"typology": Typology.EPISODIC, "created_by": "agent:explorer"},
    "note of a tool": {
        "typology": Typology.EPISODIC,
        "created_by": "agent:clerk",
        "origin": Origin.TOOL,
    },
    "said": {
        "typology": Typology.EPISODIC,
        "created_by": "agent:assistant",
        "origin": Origin.USER,
        "envelope": {"speaker": "Ada"},
        "provenance": {"derivation": "log"},
    },
    "fact": {"typology": Typology.SEMANTIC, "created_by": "agent:explorer"},
    "fact?": {
        "typology": Typology.SEMANTIC,
        "created_by": "agent:clerk",
        "candidate": True,
    },
    "preference": {
        "typology": Typology.PROCEDURAL,
        "created_by": "operator:ada",
        "origin": Origin.OPERATOR,
    },
}


def texts(node: Any) -> Iterator[str]:
    """Every text of a story but its rules, which no note repeats."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            if key != "rules":
                yield from texts(value)
    elif isinstance(node, list):
        for each in node:
            yield from texts(each)


def sentences() -> list[str]:
    """The notes of the demo world that are one sentence."""
    stories = (ROOT / "src/idetic/world/stories").glob("*.yaml")
    found = {text for story in stories for text in texts(yaml.safe_load(story.read_text("utf-8")))}
    return sorted(text for text in found if re.fullmatch(r"[A-Z][^.!?\n]+[.!?]", text))


def of_words(count: int) -> list[str]:
    """Sentences of so many words: each three of the stories', told in one breath and cut."""
    told = [text[:-1] for text in NOTES]
    mixed = zip(told, told[1:], told[2:], strict=False)
    joined = (f"{a}, and {b[0].lower()}{b[1:]}, because {c}".split() for a, b, c in mixed)
    return [" ".join(words[:count]) + "." for words in joined if len(words) >= count]


NOTES = sentences()
ORDINARY = [text for text in NOTES if len(text.split()) <= ALWAYS]
SHORT = [text for text in NOTES if len(text) <= BY_OURS]


@pytest.fixture(params=["cl100k_base", "o200k_base"])
def encoding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tiktoken.Encoding:
    """A tokenizer of OpenAI's, out of LlamaIndex' own files: nothing is fetched."""
    found = find_spec("llama_index.core")
    assert found is not None
    assert found.origin is not None
    files = Path(found.origin).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(files))
    return tiktoken.get_encoding(request.param)


def entry(text: str, number: int, **more: Any) -> Entry:
    made: dict[str, Any] = {
        # Any six digits: those that are letters cost least, and some of all are among them.
        "id": UUID(int=random.Random(number).getrandbits(128)),  # noqa: S311 - repeatable
        "anchor": {},
        "tier": Tier.PERSISTENT,
        "body_text": text,
        "envelope": {},
        "origin": Origin.AGENT,
        "trust": 60,
        "created_at": AT,
        "spec_version": 1,
    }
    return Entry(**(made | more))


def cost(made: Entry, strength: SourceStrength | None = None) -> int:
    """What an entry adds to a block that has others of its year."""
    around = f"{HEADER}# persistent\n"
    return COUNTER.count(around + render(made, strength, AT.year)) - COUNTER.count(around)


def test_there_are_real_notes_to_count() -> None:
    assert len(NOTES) >= 100
    assert len(ORDINARY) >= 0.95 * len(NOTES), "nearly all of the stories' sentences"
    assert len(of_words(ALWAYS)) >= 150
    assert len(of_words(MOSTLY)) >= 150
    assert len(SHORT) >= len(NOTES) // 2, "at least half of the stories' sentences are that short"


def costs_to(encoding: tiktoken.Encoding, texts: list[str], kind: str, age: int) -> list[int]:
    """What each text adds to a block, as a model counts."""
    around = f"{HEADER}# persistent\n"
    before = len(encoding.encode(around))
    said = datetime(AT.year - age, 12, 28, tzinfo=UTC)
    costs = []
    for number, text in enumerate(texts):
        told = render(entry(text, number, **KINDS[kind], created_at=said), year=AT.year)
        assert text in told, "the words stay as they are"
        costs.append(len(encoding.encode(around + told)) - before)
    return costs


@pytest.mark.parametrize("age", [0, 1, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_of_any_age_costs_a_model_at_most_45_tokens_with_its_label(
    kind: str, age: int, encoding: tiktoken.Encoding
) -> None:
    assert max(costs_to(encoding, [*ORDINARY, *of_words(ALWAYS)], kind, age)) <= TOKENS
    longer = costs_to(encoding, of_words(MOSTLY), kind, age)
    assert sum(one <= TOKENS for one in longer) >= 0.7 * len(longer)
    assert sum(longer) <= 45 * len(longer)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shorter_sentence_costs_as_little_by_our_own_counter(kind: str) -> None:
    for number, text in enumerate(SHORT):
        assert cost(entry(text, number, **KINDS[kind])) <= TOKENS, text


@pytest.mark.parametrize("kind", KINDS)
def test_of_longer_sentences_most_cost_no_more(kind: str) -> None:
    costs = [cost(entry(text, number, **KINDS[kind])) for number, text in enumerate(NOTES)]
    assert sum(one <= TOKENS for one in costs) >= 0.9 * len(costs)
    assert sum(costs) <= 39 * len(costs)


def test_what_stands_on_a_rule_costs_a_few_more_for_its_strength() -> None:
    rule = Ref("rule", UUID(int=7), 2)
    for strength in SourceStrength:
        told = cost(entry(SHORT[0], 1, refs=(rule,), **KINDS["fact"]), strength)
        assert told - cost(entry(SHORT[0], 1, **KINDS["fact"])) <= 7


@pytest.mark.parametrize("kind", KINDS)
def test_the_label_still_tells_id_kind_origin_and_day(kind: str) -> None:
    made = entry(SHORT[0], 3, **KINDS[kind])
    short, told, origin, day, rest = render(made, year=AT.year).split(" ", 4)
    assert made.id.hex.endswith(short)
    assert told == kind.split(" ", maxsplit=1)[0]
    assert origin == made.origin
    assert day == "01Mar"
    assert rest.startswith("> ")
