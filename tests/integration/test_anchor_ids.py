"""An anchor's narrow key: the library and the database compute the same, whatever its keys are."""

from __future__ import annotations

import copy
from typing import Any
from uuid import RFC_4122, UUID, uuid4

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idetic import Idetic, MemorySpec, Principal
from idetic.spec.loader import load
from idetic.store.scope import anchor_id
from tests.conftest import TestDatabase
from tests.support.chain import narrow_key

pytestmark = pytest.mark.anyio
SHARED = True

KEYS: dict[str, tuple[Any, ...]] = {
    "one uuid": (UUID(int=0),),
    "uuids": (uuid4(), uuid4()),
    "a text": ("acme",),
    "unicode": ("Zürich 東京 \U0001f600", "e\u0301", "\u00e9"),
    "what an array would read": ("{a,b}", 'a"b', "a\\b", "NULL", "a,b", " a "),
    "one number": (0,),
    "numbers": (-(2**63), 2**63 - 1, 17),
    "of all kinds": ("acme", UUID(int=2**128 - 1), -1),
}
_COMPUTED = "SELECT idetic.anchor_id_v1(%s::text[])"


@pytest.mark.parametrize("values", KEYS.values(), ids=KEYS)
def test_the_database_computes_what_the_library_does(
    database: TestDatabase, values: tuple[Any, ...]
) -> None:
    """From the values themselves, as the server writes each of their types."""
    texts = ", ".join(["(%s)::text"] * len(values))
    with psycopg.connect(database.admin_dsn) as connection:
        query = f"SELECT idetic.anchor_id_v1(ARRAY[{texts}])"
        found = connection.execute(query.encode(), values).fetchone()
    assert found == (anchor_id(values),)
    assert anchor_id(values) == narrow_key(values), "as the documents define it"


def test_whatever_the_texts_are(database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn) as connection:
        said = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))

        @settings(max_examples=300, deadline=None)
        @given(st.lists(said | st.uuids() | st.integers(-(2**63), 2**63 - 1), min_size=1))
        def same(values: list[Any]) -> None:
            texts = [str(value) for value in values]
            assert connection.execute(_COMPUTED, (texts,)).fetchone() == (anchor_id(values),)

        same()


def test_without_one_of_the_keys_there_is_none(database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn) as connection:
        for texts in (["a", None], [None, "a"], [None]):
            assert connection.execute(_COMPUTED, (texts,)).fetchone() == (None,)


def test_other_keys_have_another() -> None:
    one, other = uuid4(), uuid4()
    pairs = [(one, other), (other, one), (one,), (one, one), ("a", "bc"), ("ab", "c"), ("abc",)]
    assert len({anchor_id(pair) for pair in pairs}) == len(pairs)
    made = {(anchor_id(pair).version, anchor_id(pair).variant) for pair in pairs}
    assert made == {(8, RFC_4122)}, "its application made it"


def _of_all_kinds() -> MemorySpec:
    data = copy.deepcopy(load("world_agent").as_data())
    data["agent"] = data["backend"]["family"] = "kinds_agent"
    kinds = {"house": "text", "number": "bigint", "person": "uuid"}
    keys = [{"name": name, "type": kind} for name, kind in kinds.items()]
    data["anchor"] |= {"root": None, "keys": keys}
    data["references"]["canonical"] = []
    data["leak_defence"] |= {"reasons": "with", "guard": "backstop"}
    return load(data)


@pytest.mark.parametrize("house", ["acme", "Zürich 東京 \U0001f600", "{a,b}\"'\\", " a "])
@pytest.mark.parametrize("number", [-(2**63), 0, 2**63 - 1])
async def test_memory_stands_under_it(
    database: TestDatabase, db: Idetic, house: str, number: int
) -> None:
    agent = await db.agent(_of_all_kinds())
    keys = {"house": house, "number": number, "person": uuid4()}
    memory = agent.bind(principal=Principal.operator("ada"), **keys)
    await memory.prefer("Be brief.")
    assert [entry.body_text for entry in await memory.list()] == ["Be brief."]
    assert (await agent.bind(principal=Principal.auditor("ben"), **keys).verify()).intact
    beside = agent.bind(principal=Principal.operator("ada"), **{**keys, "number": 1})
    assert await beside.list() == []
    with psycopg.connect(database.admin_dsn) as connection:
        rows = connection.execute(
            """SELECT a.house, a.number, a.person, a.anchor_id, m.anchor_id
               FROM worlds.kinds_agent_memory_anchors a JOIN worlds.kinds_agent_memory m
                   ON m.house = a.house AND m.anchor_id = a.anchor_id
               WHERE a.person = %s""",
            (keys["person"],),
        ).fetchall()
    narrow = anchor_id([*keys.values()])
    assert rows == [(house, number, keys["person"], narrow, narrow)]
