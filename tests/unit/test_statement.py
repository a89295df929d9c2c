"""Statements: names are put in place, values are not; each value travels once, beside the text."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idetic.store.templates import Statement, filled, named_query, statement

UUID, TEXT = 2950, 25


# --- names --------------------------------------------------------------------------------------


def test_names_are_put_in_place() -> None:
    text = "SELECT * FROM {family}_memory m WHERE m.{tenant} = 1"
    names = {"family": '"worlds".world_agent', "tenant": '"org_id"'}
    assert filled(text, names) == 'SELECT * FROM "worlds".world_agent_memory m WHERE m."org_id" = 1'


def test_a_name_with_an_alias_is_handed_the_alias() -> None:
    names = {"scope": lambda alias: f"{alias}.anchor_id = %(anchor_id)s"}
    wanted = "a.anchor_id = %(anchor_id)s AND b.anchor_id = %(anchor_id)s"
    assert filled("{scope a} AND {scope b}", names) == wanted


def test_a_name_that_nobody_gave_raises() -> None:
    with pytest.raises(KeyError, match="nobody"):
        filled("SELECT {nobody}", {"somebody": "x"})


@pytest.mark.parametrize("text", ["'{}'", "'{\"a\"}'", "'{1, 2}'", "%(limit)s", "a % b", "$$ x $$"])
def test_what_is_no_name_stays(text: str) -> None:
    assert filled(text, {}) == text


def test_what_a_name_stands_for_is_not_read_again() -> None:
    assert filled("{one}", {"one": "{two}", "two": "x"}) == "{two}"


# --- values -------------------------------------------------------------------------------------


def test_values_are_numbered_in_the_order_of_the_text() -> None:
    made = statement("SELECT %(limit)s, %(after)s::uuid")
    assert (made.text, made.names) == ("SELECT $1, $2::uuid", ("limit", "after"))
    assert made.bound({"after": "x", "limit": 5, "more": 1}) == [5, "x"]


def test_a_value_named_twice_is_sent_once() -> None:
    made = statement("SELECT %(a)s WHERE %(b)s = x AND %(a)s = y AND %(b)s <> %(a)s")
    assert made.text == "SELECT $1 WHERE $2 = x AND $1 = y AND $2 <> $1"
    assert made.bound({"a": "one", "b": "two"}) == ["one", "two"]


def test_a_value_that_nobody_gave_raises() -> None:
    with pytest.raises(KeyError, match="limit"):
        statement("SELECT %(limit)s").bound({"after": 1})


@given(st.text(), st.text())
def test_no_value_becomes_part_of_the_text(one: str, other: str) -> None:
    made = statement("SELECT %(one)s, %(other)s, %(one)s")
    assert made.text == "SELECT $1, $2, $1"
    assert made.bound({"one": one, "other": other}) == [one, other]


def test_a_text_without_values_is_left_as_it_is() -> None:
    made = statement("SELECT 100 % 7, '%s', '%(', $$ %d $$")
    assert (made.text, made.names) == ("SELECT 100 % 7, '%s', '%(', $$ %d $$", ())


# --- prepared -----------------------------------------------------------------------------------


def test_only_what_says_so_is_prepared() -> None:
    assert not statement("SELECT 1").prepared
    assert statement("SELECT 1", prepared=True).prepared


def test_the_same_text_and_types_have_the_same_name() -> None:
    """Behind a pooler another process may have prepared it."""
    one, other = statement("SELECT %(a)s"), Statement("SELECT $1", ("b",), prepared=True)
    assert one.name((UUID,)) == other.name((UUID,))


def test_names_differ_by_types_and_by_text() -> None:
    one, other = statement("SELECT %(a)s"), statement("SELECT  %(a)s")
    names = {made.name(types) for made in (one, other) for types in ((), (0,), (UUID,), (TEXT,))}
    assert len(names) == 8


def test_a_name_can_be_said_to_the_server() -> None:
    """PostgreSQL cuts an identifier at 63 bytes: what is longer would be another's."""
    name = statement("SELECT 'ü', %(a)s").name((UUID,))
    assert name.startswith(b"idetic_")
    assert len(name) <= 63
    assert name.decode("ascii").replace("_", "").isalnum()


def test_a_text_travels_as_utf8() -> None:
    assert statement("SELECT 'ü'").encoded == "SELECT 'ü'".encode()


def test_a_statement_is_not_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        statement("SELECT 1").text = "SELECT 2"  # type: ignore[misc]


# --- queries of our own -------------------------------------------------------------------------


def test_a_query_is_made_once() -> None:
    made = named_query("queries/queue.sql", "enqueue")
    assert made is named_query("queries/queue.sql", "enqueue")
    assert made.names == ("task", "args", "at")


def test_a_query_that_is_not_there_raises() -> None:
    with pytest.raises(KeyError, match="no query"):
        named_query("queries/queue.sql", "nothing")
