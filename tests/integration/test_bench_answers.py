"""Answers are measured, over HTTP against the played reader, on a made-up conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bench import answers, answers_run, common
from bench.answers_contexts import Shown, Transcript
from bench.answers_scores import abstains, token_f1, verdict
from bench.played_reader import JUDGE, READER, PlayedReader, played_reader
from bench.sets import SETS, Conversation, Message, Question

MAY, JUNE = datetime(2023, 5, 8, 13, 56, tzinfo=UTC), datetime(2023, 6, 9, 20, 0, tzinfo=UTC)
SAID = (
    ("Ada: I adopted a grey cat.", 1, MAY),
    ("Bo: Lovely, how is the weather?", 1, MAY),
    ("Ada: My boat is moored in Hamburg harbour.", 1, MAY),
    ("Bo: I baked rye bread yesterday.", 2, JUNE),
    ("Ada: We play chess on Sundays.", 2, JUNE),
    ("Bo: The roof of my shed leaks.", 2, JUNE),
)
MADE_UP = Conversation(
    "made-up-1",
    tuple(Message(text, session, "user", text[:3].strip(":"), at) for text, session, at in SAID),
    (
        Question("Which cat did Ada adopt?", "single-hop", frozenset({0}), "I adopted a grey cat"),
        Question("Where is the boat of Ada moored?", "multi-hop", frozenset({2}), "in the garage"),
        # The trap that the set names as the answer of an adversarial question.
        Question("Who painted zebras?", "adversarial", frozenset({5}), "Bo"),
    ),
)
KEY = "sk-the-readers-own"


@pytest.fixture(autouse=True)
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the figures go; the set is the made-up one."""
    monkeypatch.setattr(common, "OUT", tmp_path)
    monkeypatch.setitem(SETS, "locomo", lambda: [MADE_UP])
    monkeypatch.setitem(SETS, "longmemeval", lambda: [unanswered("a"), unanswered("b_abs")])
    monkeypatch.delenv("IDETIC_REASONER_KEY", raising=False)
    return tmp_path


@pytest.fixture
def server() -> Iterator[PlayedReader]:
    with played_reader() as running:
        yield running


def unanswered(name: str) -> Conversation:
    """As LongMemEval's part is here: a question without its answer."""
    question = Question("Which zebras?", "multi-session", frozenset({1}))
    return Conversation(f"longmemeval-{name}", MADE_UP.messages, (question,))


def ask(server: PlayedReader, *more: str, judge: bool = True) -> int:
    named = ["--reader-url", server.url, "--reader-model", READER]
    named += ["--judge-model", JUDGE] if judge else []
    return answers.run([*named, *more])


def rows(out: Path) -> dict[tuple[str, str], dict[str, Any]]:
    told = json.loads((out / "answers.json").read_text("utf-8"))
    return {(row["arm"], row["category"]): row for row in told["rows"]}


def questions(server: PlayedReader, since: int) -> list[str]:
    """What a server was asked since then; each run's first word with a model is left out."""
    asked = (body["messages"] for body in server.asked[since:])
    return [messages[-1]["content"] for messages in asked if len(messages) > 1]


# --- a whole run --------------------------------------------------------------------------------


def test_every_context_is_answered_and_judged(
    model_path: Path, server: PlayedReader, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    assert ask(server, "--price-in", "0.5", "--price-out", "2") == 0
    found = rows(out)
    assert {arm for arm, _ in found} == {"idetic", "full", "bm25"}
    for arm in ("idetic", "full", "bm25"):
        whole = found[arm, "all"]
        assert whole["questions"] == whole["of"] == 3
        assert found[arm, "single-hop"]["correct"] == 100
        assert found[arm, "multi-hop"]["correct"] == 0
        assert found[arm, "adversarial"]["correct"] == 100
        assert found[arm, "adversarial"]["token F1"] is None
        assert found[arm, "single-hop"]["evidence shown"] == 100
        assert whole["abstained"] == pytest.approx(100 / 3, abs=0.1)
        assert whole["prompt tokens"] > 0 < whole["judge tokens"]
        assert whole["cost"] > 0
        assert whole["errors"] == whole["cut"] == 0
    assert all(body["temperature"] == 0 and body["seed"] == 7 for body in server.asked)
    shown = [body["messages"][-1]["content"] for body in server.asked]
    assert any("Memory: quoted evidence." in text and " 08May > " in text for text in shown)
    assert any("Monday, 08 May 2023, 13:56:\nAda: I adopted a grey cat." in text for text in shown)


def test_without_a_model_the_played_reader_answers(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answers.run(["--contexts", "bm25"]) == 0
    assert rows(out)["bm25", "all"]["questions"] == 3
    assert answers.PLAYED in capsys.readouterr().out


def test_where_a_set_has_no_answers_nothing_is_judged_but_abstention(
    server: PlayedReader, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(server, "--set", "longmemeval", "--contexts", "full,bm25") == 0
    found = rows(out)
    assert found["full", "multi-session"]["correct"] is None
    assert found["full", "multi-session"]["token F1"] is None
    assert found["full", "multi-session"]["evidence shown"] == 100
    assert found["bm25", "multi-session"]["evidence shown"] == 0
    assert found["full", "abstention"]["correct"] == 100
    assert {body["model"] for body in server.asked} == {READER}
    assert answers.NO_ANSWERS in capsys.readouterr().out


def test_a_conversation_beyond_the_window_is_cut_and_the_report_says_so(
    server: PlayedReader, out: Path
) -> None:
    assert ask(server, "--contexts", "full", "--window", "60") == 0
    assert rows(out)["full", "all"]["cut"] == 3
    assert rows(out)["full", "single-hop"]["evidence shown"] == 0
    newest = Transcript(MADE_UP).full(60)
    assert newest.places == (4, 5)


# --- going on -----------------------------------------------------------------------------------


def test_what_is_answered_is_not_asked_again(server: PlayedReader, out: Path) -> None:
    assert ask(server, "--contexts", "bm25", "--questions", "2") == 0
    first = len(server.asked)
    path = out / "answers_questions.jsonl"
    # Killed while it wrote its last line, a verdict or an answer.
    path.write_text(path.read_text("utf-8")[:-30], "utf-8")
    assert ask(server, "--contexts", "bm25") == 0
    assert rows(out)["bm25", "all"]["questions"] == 3
    # The question that was not in the sample with its verdict, if it needs one, and the lost line.
    assert 2 <= len(questions(server, first)) <= 3
    before = len(server.asked)
    assert ask(server, "--contexts", "bm25") == 0
    assert questions(server, before) == []


def test_another_judge_asks_the_reader_nothing(server: PlayedReader, out: Path) -> None:
    assert ask(server, "--contexts", "bm25") == 0
    before = len(server.asked)
    assert ask(server, "--contexts", "bm25", judge=False) == 1
    told = json.loads((out / "answers.json").read_text("utf-8"))["meta"]["notes"]
    assert any("The judge said neither CORRECT nor WRONG." in note for note in told)
    assert [text for text in questions(server, before) if text.startswith("Excerpt:")] == []


def test_a_context_is_known_again_by_its_words_not_by_ids_and_times() -> None:
    first, again = (
        f"{label} > ada: a" for label in ("02bd4a note agent 30Nov", "db3db1 note agent 01Dec2025")
    )
    assert Shown(f"{first} cat", (0,)).wording == Shown(f"{again} cat", (0,)).wording
    assert Shown(f"{first} cat", (0,)).wording != Shown(f"{again} dog", (0,)).wording


# --- what goes wrong ----------------------------------------------------------------------------


def test_a_wrong_key_is_one_clear_error(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDETIC_REASONER_KEY", "sk-another")
    with (
        played_reader(key=KEY) as server,
        pytest.raises(SystemExit, match=r"The reader cannot be asked.*status 401.*key") as stopped,
    ):
        ask(server)
    assert "sk-" not in str(stopped.value)
    assert not (out / "answers_questions.jsonl").exists()
    monkeypatch.setenv("IDETIC_REASONER_KEY", KEY)
    with played_reader(key=KEY) as server:
        assert ask(server, "--contexts", "bm25") == 0
    assert KEY not in (out / "answers_questions.jsonl").read_text("utf-8")
    assert KEY not in (out / "answers.json").read_text("utf-8")


def test_the_readers_key_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDETIC_REASONER_KEY", KEY)
    with played_reader(key=KEY) as reader, played_reader(key=KEY) as judge:
        with pytest.raises(SystemExit, match=r"The judge cannot be asked.*status 401"):
            ask(reader, "--contexts", "bm25", "--judge-url", judge.url)
        monkeypatch.setenv("IDETIC_ANSWERS_JUDGE_KEY", KEY)
        assert ask(reader, "--contexts", "bm25", "--judge-url", judge.url) == 0


def test_a_wrong_address_is_one_clear_error(server: PlayedReader) -> None:
    with pytest.raises(SystemExit, match=r"The reader cannot be asked.*status 404.*/v1"):
        answers.run(["--reader-url", server.url[:-3], "--reader-model", READER])
    with pytest.raises(SystemExit, match="--reader-url or --judge-url: base_url is not an address"):
        answers.run(["--reader-url", "localhost", "--reader-model", READER])


def test_a_judge_that_never_obeys_ends_the_run(
    server: PlayedReader, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(answers_run, "HOPELESS", 2)
    assert ask(server, "--contexts", "bm25", judge=False) == 1
    assert "STOPPED: 2 requests in a row failed." in capsys.readouterr().out


def test_limits_and_faults_are_repeated(out: Path) -> None:
    with played_reader(statuses=(429, 200, 200, 503, 429)) as server:
        assert ask(server, "--contexts", "bm25", "--at-once", "1") == 0
    assert rows(out)["bm25", "all"]["errors"] == 0


def test_a_run_stops_at_its_cap_and_goes_on_with_more(
    server: PlayedReader, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A request may cost up to its 100 tokens of an answer, so one of these fits, and not all.
    priced = ["--price-in", "0", "--price-out", "1000000", "--answer-tokens", "100"]
    priced += ["--contexts", "bm25", "--at-once", "1"]
    assert ask(server, *priced, "--max-cost", "120") == 1
    told = capsys.readouterr().out
    assert "STOPPED: --max-cost is reached." in told
    assert 0 < rows(out)["bm25", "all"]["questions"] < 3
    assert ask(server, *priced, "--max-cost", "10000") == 0
    assert rows(out)["bm25", "all"]["questions"] == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--reader-url", "http://localhost:1/v1"], "--reader-model is missing"),
        (["--reader-model", "m", "--judge-url", "http://localhost:1/v1"], "--judge-model is"),
        (["--max-cost", "1"], "--max-cost needs --price-in and --price-out"),
        (["--price-in", "1"], "A price is missing"),
        (["--conversations", "1-3"], "is not within 1-1"),
        (["--conversations", "first"], "--conversations is 1-3, or 2,5, or all"),
        (["--budget", "0"], "are numbers above 0"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        answers.run(given)


def test_an_unknown_context_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        answers.run(["--contexts", "grep"])
    assert "'grep' is none of idetic, full, bm25" in capsys.readouterr().err


# --- scores -------------------------------------------------------------------------------------


def test_token_f1_counts_words_without_articles_and_order() -> None:
    assert token_f1("The grey cat.", "a cat, grey") == 1
    assert token_f1("grey cat", "cat") == pytest.approx(2 / 3)
    assert token_f1("dog", "cat") == 0


@pytest.mark.parametrize("said", ["I don't know.", "I don\u2019t know", "**I do not know**"])
def test_an_abstention_is_known_by_its_words(said: str) -> None:
    assert abstains(said)
    assert not abstains("I know: Hamburg")


def test_a_verdict_is_one_of_two_words() -> None:
    assert verdict("CORRECT") is True
    assert verdict("**Wrong.**") is False
    assert verdict("It is correct") is None
