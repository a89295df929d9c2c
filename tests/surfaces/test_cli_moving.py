"""`idetic export`, `import` and `adopt` as somebody types them who moves house."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from idetic import Idetic
from tests.conftest import TestDatabase, make_world
from tests.support.moving import copy_canon, live, names_in
from tests.surfaces.cli_runner import Ran, administered, called, process


@dataclass(frozen=True)
class House:
    """A tenant with a life behind it, and an empty database to move to."""

    database: TestDatabase
    target: TestDatabase
    anchor: dict[str, str]

    def scope(self, who: str = "operator:ada") -> list[str]:
        words = [f"--anchor={key}={value}" for key, value in self.anchor.items()]
        return ["--agent", "world_agent", "--as", who, *words]

    def here(self, *arguments: str, who: str = "operator:ada") -> Ran:
        return called(*arguments, *self.scope(who), "--dsn", self.database.dsn)

    def there(self, *arguments: str, who: str = "operator:ada") -> Ran:
        return administered(self.target, *arguments, *self.scope(who))


@pytest.fixture
def house(database: TestDatabase, empty_database: TestDatabase) -> House:
    async def lived() -> dict[str, str]:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            world = await make_world(db, await db.agent("world_agent"))
            await live(world)
            return {"org_id": str(world.org_id), "domain_id": str(world.domain_id)}

    return House(database, empty_database, anyio.run(lived))


def test_an_anchor_moves_to_a_database_that_knew_nothing(house: House, tmp_path: Path) -> None:
    path, again = str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")
    told = house.here("export", path, "--json").json()
    assert told["file"] == path
    assert told["links"] == told["position"]
    kept = house.here("verify", "--save-head", str(tmp_path / "head.json"), who="auditor:ben")
    assert kept.code == 0

    unknown = house.there("import", path)
    assert (unknown.code, "world_agent" in unknown.err) == (5, True)
    nowhere = house.there("import", path, "--apply", "--json")
    assert (nowhere.code, nowhere.error()["code"]) == (4, "anchor_not_found")
    copy_canon(house.database, house.target)
    done = house.there("import", path, "--head", str(tmp_path / "head.json"), "--json").json()
    assert (done["entries"], done["links"]) == (told["entries"], told["links"])
    assert done["head"]["position"] == told["position"] + 1, "the link of the import"
    assert house.there("export", again).code == 0
    lines = [Path(one).read_text("utf-8").splitlines() for one in (path, again)]
    assert len(set(lines[1]) - set(lines[0])) == 3, "header, import link, manifest"

    taken = house.there("import", path, "--json")
    assert (taken.code, taken.error()["code"]) == (3, "anchor_taken")
    exists = house.here("export", path, "--json")
    assert (exists.code, exists.error()["code"]) == (2, "bad_input")
    assert names_in(tmp_path) == ["a.jsonl", "b.jsonl", "head.json"]


def test_an_export_to_stdout_is_the_file_and_nothing_else(house: House, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert house.here("export", str(path)).code == 0
    ran = process("export", "-", *house.scope(), "--dsn", house.database.dsn)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.encode() == path.read_bytes()
    both = house.here("export", "-", "--json")
    assert (both.code, both.error()["code"]) == (2, "usage")


def test_a_damaged_file_is_told_and_leaves_nothing(house: House, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert house.here("export", str(path)).code == 0
    path.write_bytes(path.read_bytes()[:-100])
    ran = house.there("import", str(path), "--apply")
    assert (ran.code, "Traceback" in ran.err) == (4, False)
    copy_canon(house.database, house.target)
    ran = house.there("import", str(path))
    assert ran.code == 2
    assert "What to do" in ran.err
    assert json.loads(house.there("list", "--json").out)["entries"] == []


def test_who_may_not_export_cannot(house: House, tmp_path: Path) -> None:
    ran = house.here("export", str(tmp_path / "a"), "--json", who="agent:explorer")
    assert (ran.code, ran.error()["code"]) == (3, "capability")
    assert names_in(tmp_path) == []


def test_another_stores_memories_are_adopted_after_a_dry_run(house: House, tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    told = {"results": [{"id": str(uuid4()), "memory": "Ada is in Lisbon."}, {"id": "x"}]}
    path.write_text(json.dumps(told), "utf-8")
    ran = house.here("adopt", str(path), "--from", "mem0", "--dry-run")
    assert ran.code == 0
    assert "would take" in ran.out
    assert "no text under `memory`" in ran.out
    done = house.here("adopt", str(path), "--from", "mem0", "--json").json()
    assert (done["taken"], len(done["not_taken"])) == (1, 1)
    again = house.here("adopt", str(path), "--from", "mem0", "--json").json()
    assert (again["taken"], again["known"]) == (0, 1)
    wrong = house.here("adopt", str(path), "--from", "zep", "--json")
    assert (wrong.code, wrong.error()["code"]) == (2, "bad_input")
