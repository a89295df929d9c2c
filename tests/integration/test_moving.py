"""Moving memory: what leaves arrives, to the byte; what is not whole does not arrive at all."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from idetic import Claim, Idetic, Observation, Principal, Tier, errors
from idetic.embed import BgeSmall
from tests.conftest import RULE_TEXT, TestDatabase, World
from tests.support.databases import copy_of
from tests.support.fake_embedder import FakeEmbedder
from tests.support.moving import (
    Elsewhere,
    copy_canon,
    every_row,
    exported,
    live,
    names_in,
    rows_of,
    written,
)
from tests.support.servers import TestServer
from tests.support.triggers import without_triggers

pytestmark = pytest.mark.anyio
SHARED = True

EMPTY = ("world_agent_memory_anchors",)


@pytest.fixture
async def elsewhere(server: TestServer, template: str) -> AsyncIterator[Elsewhere]:
    with copy_of(server, template) as database:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            yield Elsewhere(database, db, await db.agent("world_agent"))


@pytest.fixture
async def lived(world: World, database: TestDatabase, elsewhere: Elsewhere) -> UUID:
    kept = await live(world)
    copy_canon(database, elsewhere.database)
    return kept


# --- there and back -----------------------------------------------------------------------------


async def test_export_import_export_is_equal_to_the_byte_and_every_table_moves(
    world: World, database: TestDatabase, elsewhere: Elsewhere, lived: UUID, tmp_path: Path
) -> None:
    first = await exported(world.operator)
    there = elsewhere.bind(world)
    done = await there.import_from(written(tmp_path / "a.jsonl", first))
    assert rows_of(await exported(there)) == rows_of(first)
    assert await exported(world.operator) == first, "exporting left nothing behind"

    here, beyond = every_row(database), every_row(elsewhere.database)
    # Vectors and the word index are made anew.
    made = ("profiles", "embeddings", "segments", "words")
    unmoved = {f"world_agent_memory_{name}" for name in made}
    beyond["world_agent_memory_ledger"] -= 1  # the link that says who took it in
    assert here == beyond
    assert [table for table, count in here.items() if not count and table not in unmoved] == []
    assert done.entries == here["world_agent_memory"]
    assert done.links == here["world_agent_memory_ledger"] == done.head.position - 1
    auditor = elsewhere.bind(world, Principal.auditor("ben"))
    assert (await auditor.verify(await world.bind(Principal.auditor("ben")).head())).intact
    told = await there.history(lived)
    assert {link.imported_at for link in told} == {done.head.position}
    assert [replace(link, imported_at=None) for link in told] == await world.operator.history(lived)


async def test_what_was_imported_goes_on_living(
    world: World, elsewhere: Elsewhere, lived: UUID, tmp_path: Path
) -> None:
    there = elsewhere.bind(world)
    await there.import_from(written(tmp_path / "a.jsonl", await exported(world.operator)))
    again = await there.prefer(
        "Ask before releasing.", claim=Claim("wire", "release", "ask"), idempotency_key="second"
    )
    assert again.replayed, "idempotency keys came along"
    changed = await there.prefer("Sum up in two.", claim=Claim("summary", "length", "2"))
    assert changed.superseded == lived
    with pytest.raises(errors.TransitionRefused):
        await there.tombstone(lived, reason="an action rests on it")
    words = await there.recall("release wire alone")
    assert "Never release alone." in [e.body_text for e in words.entries]
    assert (await elsewhere.bind(world, Principal.auditor("ben")).verify()).intact


async def test_vectors_come_along_or_are_made_anew(
    world: World, database: TestDatabase, elsewhere: Elsewhere, lived: UUID, embedder: BgeSmall,
    tmp_path: Path,
) -> None:  # fmt: skip
    async with Idetic.open(database.dsn, embedder=embedder) as db:
        memory = (await db.agent("world_agent")).bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
        )
        embedded = (await memory.embed()).embedded
    with_vectors, without = (
        await exported(world.operator, vectors=True),
        await exported(world.operator),
    )
    assert len(with_vectors) > len(without) + embedded * 1_000
    path = written(tmp_path / "v.jsonl", with_vectors)
    there = elsewhere.bind(world)
    assert (await there.import_from(path)).vectors == embedded
    assert rows_of(await exported(there, vectors=True)) == rows_of(with_vectors)
    assert rows_of(await exported(there)) == rows_of(without)
    async with Idetic.open(elsewhere.database.dsn, embedder=embedder) as db:
        memory = (await db.agent("world_agent")).bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
        )
        assert (await memory.embed()).embedded == 0, "nothing is left to be embedded"
        found = await memory.recall("How should a summary look?")
        assert found.hits[0].entry.id == lived
        assert [each.what for each in found.not_used] == ["envelope"]


async def test_vectors_of_an_export_from_before_there_were_pieces_are_taken(
    world: World, database: TestDatabase, elsewhere: Elsewhere, lived: UUID, tmp_path: Path
) -> None:
    async with Idetic.open(database.dsn, embedder=FakeEmbedder()) as db:
        memory = (await db.agent("world_agent")).bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
        )
        embedded = (await memory.embed()).embedded
    now = await exported(world.operator, vectors=True)

    def older(lines: list[bytes]) -> None:
        lines[:] = [line.replace(b'"piece": 0, ', b"") for line in lines]

    then = _sealed(now, older)
    assert then.count(b'"piece"') < now.count(b'"piece"') == embedded
    there = elsewhere.bind(world)
    taken = await there.import_from(written(tmp_path / "v.jsonl", then))
    assert taken.vectors == embedded
    assert rows_of(await exported(there, vectors=True)) == rows_of(now)


async def test_vectors_can_be_left_behind_and_computed_again(
    world: World, database: TestDatabase, elsewhere: Elsewhere, lived: UUID, embedder: BgeSmall,
    tmp_path: Path,
) -> None:  # fmt: skip
    async with Idetic.open(database.dsn, embedder=embedder) as db:
        agent = await db.agent("world_agent")
        memory = agent.bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
        )
        count = (await memory.embed()).embedded
    path = written(tmp_path / "v.jsonl", await exported(world.operator, vectors=True))
    async with Idetic.open(elsewhere.database.dsn, embedder=embedder) as db:
        there = (await db.agent("world_agent")).bind(
            org_id=world.org_id, domain_id=world.domain_id, principal=Principal.operator("ada")
        )
        assert (await there.import_from(path, vectors=False)).vectors == 0
        assert (await there.get(lived)).id == lived
        assert (await there.embed()).embedded == count
        assert rows_of(await exported(there)) == rows_of(await exported(world.operator))


async def test_an_export_is_of_one_moment_although_others_write(world: World) -> None:
    await live(world)
    chunks: list[bytes] = []
    async for chunk in world.operator.export():
        await world.operator.prefer(f"Written meanwhile {len(chunks)}.", claim=Claim("x", "y", "z"))
        chunks.append(chunk)
    lines = b"".join(chunks).splitlines()
    assert b"Written meanwhile" not in b"".join(chunks)
    header, manifest = json.loads(lines[0]), json.loads(lines[-1])["manifest"]
    assert header["rows"]["ledger"] == manifest["head"]["position"]
    assert len(lines) == sum(header["rows"].values()) + 2


async def test_an_export_holds_a_few_hundred_rows_at_a_time(world: World) -> None:
    notes = [Observation(f"Note {n}.") for n in range(2_000)]
    session = await world.memory.session().open()
    await session.observe_many(notes)
    sizes = [chunk.count(b"\n") async for chunk in world.operator.export()]
    assert sum(sizes) > 4_000
    assert max(sizes) <= 500


async def test_an_empty_anchor_can_be_exported_and_imported(
    world: World, database: TestDatabase, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    copy_canon(database, elsewhere.database)
    data = await exported(world.operator)
    there = elsewhere.bind(world)
    done = await there.import_from(written(tmp_path / "e.jsonl", data))
    assert (done.entries, done.links) == (0, 0)
    assert await exported(there) == data


# --- what is refused ----------------------------------------------------------------------------


async def refused(there: Elsewhere, world: World, path: Path, kind: type[Exception]) -> Exception:
    """Import a file that must not come in, and see that nothing of it did."""
    before = every_row(there.database)
    with pytest.raises(kind) as told:
        await there.bind(world).import_from(path)
    after = every_row(there.database)
    assert {t: n for t, n in after.items() if t not in EMPTY} == {
        t: n for t, n in before.items() if t not in EMPTY
    }
    assert before == after
    return told.value


def _cut(data: bytes, pick: random.Random) -> bytes:
    return data[: pick.randrange(len(data))]


def _flip(data: bytes, pick: random.Random) -> bytes:
    at = pick.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << pick.randrange(8))]) + data[at + 1 :]


def _swap(data: bytes, pick: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    one, other = sorted(pick.sample(range(len(lines)), 2))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _drop(data: bytes, pick: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[pick.randrange(len(lines))]
    return b"".join(lines)


def _double(data: bytes, pick: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = pick.randrange(len(lines))
    return b"".join([*lines[:at], lines[at], *lines[at:]])


def _more(data: bytes, pick: random.Random) -> bytes:
    return data + pick.choice([b"\n", b"{}\n", data, b"\x00"])


@pytest.mark.parametrize("damage", [_cut, _flip, _swap, _drop, _double, _more])
async def test_a_damaged_file_is_refused_and_nothing_is_written(
    world: World, elsewhere: Elsewhere, lived: UUID, tmp_path: Path,
    damage: Callable[[bytes, random.Random], bytes],
) -> None:  # fmt: skip
    data, pick = await exported(world.operator), random.Random(7)  # noqa: S311 - chosen, not secret
    for number in range(12):
        path = written(tmp_path / f"{number}.jsonl", damage(data, pick))
        error = await refused(elsewhere, world, path, errors.ExportRefused)
        assert "wire" not in str(error).lower(), "an error repeats nothing of a note"


def _sealed(data: bytes, change: Callable[[list[bytes]], None]) -> bytes:
    """A file that somebody changed and sealed again: every hash of the manifest is right."""
    from idetic.transfer.exports import Header, Seal  # noqa: PLC0415

    lines = data.splitlines(keepends=True)[:-1]
    change(lines)
    rows: dict[str, list[bytes]] = {}
    for line in lines[1:]:
        rows.setdefault(json.loads(line)["kind"], []).append(line)
    header = json.loads(lines[0])
    header["rows"] = {kind: len(rows.get(kind, [])) for kind in header["rows"]}
    first = (json.dumps(header, ensure_ascii=False) + "\n").encode()
    seal = Seal()
    seal.header(first, Header.read(first))
    for kind, some in rows.items():
        seal.rows(kind, b"".join(some), len(some))
    seal.end(json.loads(rows["ledger"][-1])["row"])
    return b"".join([first, *lines[1:], seal.manifest()])


def _replace(old: bytes, new: bytes) -> Callable[[list[bytes]], None]:
    def change(lines: list[bytes]) -> None:
        at = next(n for n, line in enumerate(lines) if old in line)
        lines[at] = lines[at].replace(old, new)

    return change


def _last_link_off(lines: list[bytes]) -> None:
    last = max(n for n, line in enumerate(lines) if line.startswith(b'{"kind": "ledger"'))
    del lines[last]


FORGED: dict[str, Callable[[list[bytes]], None]] = {
    "a note rewritten": _replace(b"Sum up in one line.", b"Sum up in ten lines"),
    "a reason rewritten": _replace(b"no longer wanted", b"never was wanted!"),
    "an author changed": _replace(b'"created_by": "operator:ada"', b'"created_by": "operator:eve"'),
    "an entry brought back": _replace(b'"archived_at": "', b'"archived_at": null, "x": "'),
    "an entry left out": lambda lines: lines.remove(
        next(x for x in lines if x.startswith(b'{"kind": "memory"') and b"To be archived" in x)
    ),
    "an action left out": lambda lines: lines.remove(
        next(x for x in lines if x.startswith(b'{"kind": "actions"'))
    ),
    "no text": _replace(b'"body_text": "Sum up in one line."', b'"body_text": null'),
    "a NUL": _replace(b"Sum up in one line.", b"Sum up in \\u0000 line."),
    "a trust out of bounds": _replace(b'"trust": 90', b'"trust": 900'),
    "an id that is none": _replace(b'"memory_id": "', b'"memory_id": "x'),
    "a spec that is another": _replace(b'"title": "World Agent"', b'"title": "Other Agent"'),
}


@pytest.mark.parametrize("what", FORGED)
async def test_a_file_that_was_changed_and_sealed_again_does_not_verify(
    world: World, elsewhere: Elsewhere, lived: UUID, tmp_path: Path, what: str
) -> None:
    data = await exported(world.operator)
    control = _sealed(data, lambda lines: None)
    assert control == data, "control: sealing again gives the same file"
    path = written(tmp_path / "f.jsonl", _sealed(data, FORGED[what]))
    await refused(elsewhere, world, path, errors.IdeticError)


@pytest.mark.alone
async def test_a_spec_that_is_not_the_one_its_digest_names_is_not_applied(
    world: World, lived: UUID, empty_database: TestDatabase, tmp_path: Path
) -> None:
    data = await exported(world.operator)
    forged = _sealed(data, FORGED["a spec that is another"])
    opened = Idetic.open(empty_database.dsn, admin_dsn=empty_database.admin_dsn)
    async with opened as db:
        with pytest.raises(errors.ExportRefused, match="digest"):
            await db.apply_specs(written(tmp_path / "f.jsonl", forged))
        assert await db.spec_versions() == []
        assert await db.apply_specs(written(tmp_path / "a.jsonl", data)) == 1, "control"
        assert await db.apply_specs(tmp_path / "a.jsonl") == 0, "it is known by now"


async def test_a_tail_that_was_cut_and_sealed_again_shows_against_a_kept_head(
    world: World, elsewhere: Elsewhere, lived: UUID, tmp_path: Path
) -> None:
    head = await world.bind(Principal.auditor("ben")).head()
    data = await exported(world.operator)
    lines = data.splitlines()
    last = [x for x in lines if x.startswith(b'{"kind": "ledger"')][-1]
    assert json.loads(last)["row"]["transition"] == "session_opened"

    def cut(lines: list[bytes]) -> None:
        _last_link_off(lines)
        opened = json.loads(last)["row"]["detail"]["scope"].encode()
        lines[:] = [x for x in lines if opened not in x]

    path = written(tmp_path / "cut.jsonl", _sealed(data, cut))
    with pytest.raises(errors.ExportRefused, match="cut"):
        await elsewhere.bind(world).import_from(path, head=head)
    done = await elsewhere.bind(world).import_from(path)
    assert done.links == head.position - 1, "control: without the head it does not show"


async def test_other_versions_agents_anchors_and_specs_are_refused(
    world: World, other_world: World, elsewhere: Elsewhere, lived: UUID, tmp_path: Path
) -> None:
    data = await exported(world.operator)
    for old, new, why in [
        (b'"version": 1, "agent"', b'"version": 2, "agent"', "another version of the format"),
        (b'"format": "idetic-anchor"', b'"format": "another"', "not an export of Idetic"),
        (b'"agent": "world_agent"', b'"agent": "other_agent"', "another agent"),
        (b'"spec": {"version": 1', b'"spec": {"version": 2', "differs from the spec"),
        (b'"vectors": false', b'"vectors": "no"', "another|header|kinds"),
    ]:
        assert old in data.splitlines()[0]
        path = written(tmp_path / "o.jsonl", data.replace(old, new, 1))
        with pytest.raises(errors.ExportRefused, match=why):
            await elsewhere.bind(world).import_from(path)
    path = written(tmp_path / "a.jsonl", data)
    with pytest.raises(errors.ExportRefused, match="another anchor"):
        await elsewhere.bind(other_world).import_from(path)
    for text in (b"", b"\n", b"not json\n", b"[]\n", b'{"a": 1}\n', b"\xff\xfe\n", b"[" * 100_000):
        await refused(elsewhere, world, written(tmp_path / "x", text), errors.ExportRefused)
    with pytest.raises(errors.InputError, match="cannot be read"):
        await elsewhere.bind(world).import_from(tmp_path / "missing")


async def test_an_anchor_with_memory_is_refused(
    world: World, elsewhere: Elsewhere, lived: UUID, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.jsonl", await exported(world.operator))
    await elsewhere.bind(world).prefer("There already.", claim=Claim("a", "b", "c"))
    await refused(elsewhere, world, path, errors.AnchorTaken)
    with pytest.raises(errors.AnchorTaken):
        await world.operator.import_from(path)


async def test_what_memory_refers_to_must_be_there(
    world: World, database: TestDatabase, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    await live(world)
    path = written(tmp_path / "a.jsonl", await exported(world.operator))
    await refused(elsewhere, world, path, errors.AnchorNotFound)
    copy_canon(database, elsewhere.database)
    with psycopg.connect(elsewhere.database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute("DELETE FROM worlds.rules")
        connection.execute("DELETE FROM worlds.rule_versions")
    await refused(elsewhere, world, path, errors.ReferenceNotFound)


async def test_a_note_that_restates_a_rule_there_is_refused_unless_it_is_archived(
    world: World, database: TestDatabase, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    note = RULE_TEXT.replace("two operators", "three operators")
    with psycopg.connect(database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute("UPDATE worlds.rules SET body_text = 'Something else.'")
    said = await world.operator.prefer(note, claim=Claim("wire", "check", "three"))
    copy_canon(database, elsewhere.database)
    with psycopg.connect(elsewhere.database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute("UPDATE worlds.rules SET body_text = %s", (RULE_TEXT,))
    path = written(tmp_path / "a.jsonl", await exported(world.operator))
    error = await refused(elsewhere, world, path, errors.ShadowRefused)
    assert "operators" not in str(error)
    assert said.entry_id
    await world.operator.archive(said.entry_id, reason="it restates a rule")
    path = written(tmp_path / "b.jsonl", await exported(world.operator))
    assert (await elsewhere.bind(world).import_from(path)).entries == 1


async def test_who_may_not_does_not(world: World, lived: UUID, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for principal in (Principal.agent("a"), Principal.auditor("b"), Principal.customer("c")):
        memory = world.bind(principal)
        with pytest.raises(errors.CapabilityRefused):
            await exported(memory)
        with pytest.raises(errors.CapabilityRefused):
            await memory.export_to(path)
        with pytest.raises(errors.CapabilityRefused):
            await memory.import_from(path)
        with pytest.raises(errors.CapabilityRefused):
            await memory.adopt("mem0", [])
    assert names_in(tmp_path) == []


async def test_a_file_is_its_owners_and_is_never_written_over(
    world: World, lived: UUID, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    done = await world.operator.export_to(path)
    assert path.read_bytes() == await exported(world.operator)
    assert (path.stat().st_mode & 0o777, done.size) == (0o600, path.stat().st_size)
    with pytest.raises(errors.InputError, match="already"):
        await world.operator.export_to(path)
    with pytest.raises(errors.InputError, match="cannot be written"):
        await world.operator.export_to(tmp_path / "no" / "such" / "place")
    assert names_in(tmp_path) == [path.name]


async def test_an_erased_person_is_not_in_an_export(
    world: World, elsewhere: Elsewhere, database: TestDatabase, tmp_path: Path
) -> None:
    await live(world)
    await world.operator.prefer(
        "Zora Quell wants figures.", claim=Claim("Zora Quell", "prefers", "figures"),
        idempotency_key="Zora's",
    )  # fmt: skip
    before = await exported(world.operator)
    assert b"Zora" in before
    await world.operator.erase("Zora Quell", reason="request 17")
    data = await exported(world.operator)
    assert b"zora" not in data.lower().replace(b"zora's", b"")
    assert b"quell" not in data.lower()
    copy_canon(database, elsewhere.database)
    there = elsewhere.bind(world)
    await there.import_from(written(tmp_path / "e.jsonl", data))
    assert rows_of(await exported(there)) == rows_of(data)
    assert len(await there.list(tier=Tier.PERSISTENT)) > 0


async def test_progress_is_told_from_the_first_row_to_the_last(
    world: World, elsewhere: Elsewhere, lived: UUID, tmp_path: Path
) -> None:
    out: list[tuple[int, int]] = []
    back: list[tuple[int, int]] = []
    path = tmp_path / "a.jsonl"
    done = await world.operator.export_to(path, progress=lambda n, of: out.append((n, of)))
    await elsewhere.bind(world).import_from(path, progress=lambda n, of: back.append((n, of)))
    assert out[-1] == back[-1] == (done.rows, done.rows)
