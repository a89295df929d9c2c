"""SQL files written for one spec: conditions decided, lists unfolded, names in place."""

from __future__ import annotations

import pytest

from idetic.store.templates import query, read, render, split

NOUNS = [{"noun": "rule"}, {"noun": "runbook"}]


def rendered(text: str, names: dict[str, str], **lists: list[dict[str, str]]) -> list[str]:
    """The lines that come out."""
    return render(
        text, names, {name.replace("_", " "): many for name, many in lists.items()}
    ).split("\n")


def test_names_are_put_in_place() -> None:
    assert rendered("{a}_{b}\nplain", {"a": "x", "b": "y"}) == ["x_y", "plain"]


def test_a_name_that_nobody_gave_raises() -> None:
    with pytest.raises(KeyError, match="nobody"):
        render("{a}\n{nobody}", {"a": "x"}, {})


@pytest.mark.parametrize("text", ["'{}'", "'{\"a\"}'", "'{1, 2}'", "%(limit)s", "-- a comment"])
def test_what_is_no_name_stays(text: str) -> None:
    assert render(text, {}, {}) == text


# --- conditions ---------------------------------------------------------------------------------


def test_a_condition_holds_where_its_name_is_given() -> None:
    text = "a\n-- if root:\n{root}\n-- end\nb"
    assert rendered(text, {"root": "worlds"}) == ["a", "worlds", "b"]
    assert rendered(text, {}) == ["a", "b"]


def test_an_empty_name_is_given_too() -> None:
    assert rendered("-- if citus:\na\n-- end", {"citus": ""}) == ["a"]


def test_what_does_not_hold_may_name_what_nobody_gave() -> None:
    assert rendered("a\n-- if root:\n{root_id}\n-- end", {}) == ["a"]


def test_conditions_may_be_indented() -> None:
    assert rendered("(\n    -- if root:\n    {root}\n    -- end\n)", {"root": "x"}) == [
        "(", "    x", ")",
    ]  # fmt: skip


# --- lists --------------------------------------------------------------------------------------


def test_a_list_is_unfolded_in_order() -> None:
    text = "a\n-- for each noun:\n{family}_{noun}\n-- end\nb"
    assert rendered(text, {"family": "f"}, noun=NOUNS) == ["a", "f_rule", "f_runbook", "b"]
    assert rendered(text, {"family": "f"}, noun=[]) == ["a", "b"]


def test_a_lists_name_may_have_several_words() -> None:
    text = "-- for each guarded noun:\n{noun}\n-- end"
    assert rendered(text, {}, guarded_noun=NOUNS[:1]) == ["rule"]


def test_what_one_has_the_next_does_not_inherit() -> None:
    text = "-- for each noun:\n{noun}\n-- if body:\n{body}\n-- end\n-- end"
    nouns = [{"noun": "rule", "body": "text"}, {"noun": "runbook"}]
    assert rendered(text, {}, noun=nouns) == ["rule", "text", "runbook"]


def test_a_name_of_the_list_stands_before_one_from_outside_and_ends_with_it() -> None:
    text = "{noun}\n-- for each noun:\n{noun}\n-- end\n{noun}"
    assert rendered(text, {"noun": "x"}, noun=NOUNS) == ["x", "rule", "runbook", "x"]


def test_a_list_that_nobody_gave_raises() -> None:
    with pytest.raises(KeyError, match="noun"):
        render("-- for each noun:\na\n-- end", {}, {})


def test_a_name_that_is_missing_in_one_of_many_raises() -> None:
    with pytest.raises(KeyError, match="body"):
        render("-- for each noun:\n{body}\n-- end", {}, {"noun": [{"body": "a"}, {}]})


# --- nesting ------------------------------------------------------------------------------------


def test_each_end_belongs_to_the_last_that_was_opened() -> None:
    text = "-- if a:\n1\n-- if b:\n2\n-- end\n3\n-- end\n4"
    assert rendered(text, {"a": "", "b": ""}) == ["1", "2", "3", "4"]
    assert rendered(text, {"a": ""}) == ["1", "3", "4"]
    assert rendered(text, {"b": ""}) == ["4"]
    assert rendered(text, {}) == ["4"]


def test_a_list_within_a_list() -> None:
    text = "-- for each noun:\n-- for each key:\n{noun}.{key}\n-- end\n-- end"
    keys = [{"key": "a"}, {"key": "b"}]
    wanted = ["rule.a", "rule.b", "runbook.a", "runbook.b"]
    assert rendered(text, {}, noun=NOUNS, key=keys) == wanted


def test_a_list_within_a_condition() -> None:
    text = "-- if guarded:\n-- for each noun:\n{noun}\n-- end\n-- end\nb"
    assert rendered(text, {"guarded": ""}, noun=NOUNS) == ["rule", "runbook", "b"]
    assert rendered(text, {}, noun=NOUNS) == ["b"]


# --- files --------------------------------------------------------------------------------------


def test_a_text_is_split_into_blocks() -> None:
    text = "preamble\n-- object: table a\n-- as: guard\nCREATE a;\n\n-- query: b\nSELECT 1\n"
    one, other = split(text)
    assert (one.title, one.runs_as) == ("table a", "guard")
    assert one.text.endswith("CREATE a;")
    assert (other.title, other.runs_as, other.text) == ("b", "owner", "SELECT 1")


def test_a_query_is_found_by_its_name() -> None:
    assert "enqueue_v1" in query("queries/queue.sql", "enqueue")
    assert [block.title for block in split(read("queries/queue.sql"))].count("enqueue") == 1
    with pytest.raises(KeyError, match="no query"):
        query("queries/queue.sql", "nothing")
