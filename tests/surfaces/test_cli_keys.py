"""`idetic keys`: a key is printed once, and everything else goes by its id."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import pytest

from idetic import errors, open_sync
from idetic.keys import key_id_of
from tests.conftest import TestDatabase
from tests.surfaces.cli_runner import Ran, administered, process

# Fixed: test ids name them, and every process must collect the same.
ORG, DOMAIN, NONE = (str(UUID(int=number)) for number in (1, 2, 3))
SCOPE = ["--agent", "world_agent", "--anchor", f"org_id={ORG}", "--anchor", f"domain_id={DOMAIN}"]
AS = ["--as", "operator:ada"]


@dataclass(frozen=True)
class Shell:
    """A terminal of somebody with the admin login."""

    database: TestDatabase

    def keys(self, *words: str) -> Ran:
        return administered(self.database, "keys", *words)

    def opens(self, key: str) -> bool:
        with open_sync(self.database.dsn) as db:
            try:
                return str(db.authenticate(key).scope.tenant) == ORG
            except errors.KeyRefused:
                return False


@pytest.fixture
def shell(database: TestDatabase) -> Shell:
    return Shell(database)


def test_a_key_goes_to_stdout_alone_and_the_warning_beside_it(shell: Shell) -> None:
    made = shell.keys("create", *SCOPE, *AS)
    assert made.code == 0
    key = made.out.removesuffix("\n")
    assert "\n" not in key
    assert "cannot be shown again" in made.err
    assert str(key_id_of(key)) in made.err
    assert key not in made.err
    assert shell.opens(key)


def test_the_life_of_a_key_for_programs(shell: Shell) -> None:
    first = shell.keys("create", *SCOPE, *AS, "--capability", "read", "--json")
    assert (first.code, first.err) == (0, "")
    old = first.json()
    assert set(old) == {"id", "key", "warning"}
    new = shell.keys("rotate", old["id"], "--grace-hours", "0", "--json").json()
    assert (shell.opens(old["key"]), shell.opens(new["key"])) == (False, True)
    assert shell.keys("revoke", new["id"], "--json").json() == {"id": new["id"], "revoked": True}
    assert not shell.opens(new["key"])
    listed = shell.keys("list", "--json")
    keys = listed.json()["keys"]
    assert [each["state"] for each in keys] == ["revoked", "revoked"]
    assert keys[1]["rotated_from"] == keys[0]["id"] == old["id"]
    assert keys[1]["capabilities"] == ["read"]
    assert keys[0]["anchor"] == {"org_id": ORG, "domain_id": DOMAIN}
    assert "hash" not in keys[0]
    for each in (old, new):
        assert each["key"].split("_")[2] not in listed.out


def test_the_list_for_people(shell: Shell) -> None:
    assert shell.keys("list").out == "No keys.\n"
    key = shell.keys("create", *SCOPE, *AS, "--expires-at", "2999-01-01T00:00:00Z").out.strip()
    shown = shell.keys("list", "--agent", "world_agent").out
    for part in (str(key_id_of(key)), "active", "operator:ada", "all that the spec grants", "2999"):
        assert part in shown
    assert key not in shown
    assert shell.keys("list", "--agent", "operator_agent").out == "No keys.\n"


def test_revoking_twice_is_fine(shell: Shell) -> None:
    key_id = shell.keys("create", *SCOPE, *AS, "--json").json()["id"]
    for _ in range(2):
        assert shell.keys("revoke", key_id).out == f"Key {key_id} is revoked.\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("create", *SCOPE, "--as", "nobody"), 2, "KIND:NAME"),
        (("create", "--agent", "nobody", "--anchor", "x=1", *AS), 5, "nobody"),
        (("create", "--agent", "world_agent", "--anchor", f"org_id={ORG}", *AS), 2, "domain_id"),
        (("create", *SCOPE, *AS, "--capability", "fly"), 2, "fly"),
        (("create", *SCOPE, *AS, "--capability", "maintain"), 3, "maintain"),
        (("create", *SCOPE, *AS, "--expires-at", "soon"), 2, "--expires-at"),
        (("create", *SCOPE, *AS, "--expires-at", "2020-01-01T00:00:00Z"), 2, "future"),
        (("rotate", "x"), 2, "not a UUID"),
        (("rotate", NONE), 4, "no such key"),
        (("rotate", NONE, "--grace-hours", "-1"), 2, "grace"),
        (("revoke", NONE), 4, "no such key"),
    ],
    ids=str,
)
def test_what_cannot_be_done(shell: Shell, words: tuple[str, ...], code: int, said: str) -> None:
    ran = shell.keys(*words)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert shell.keys(*words, "--json").error()["remedy"]


def test_the_application_login_may_not_manage_keys(database: TestDatabase) -> None:
    ran = process("keys", "list", "--json", IDETIC_DSN=database.dsn)
    assert (ran.code, ran.out) == (3, "")
    assert ran.error()["code"] == "capability"
    assert "admin" in ran.error()["remedy"]
