"""Keys as text: what one looks like, how a typo is told, and where the secret never shows."""

from __future__ import annotations

import string
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idetic import ApiKey, CreatedKey, Principal, errors
from idetic.gates.credentials import SECRETS
from idetic.gates.redaction import redact
from idetic.keys import SECRET_BYTES, KeyState, hash_of, key_id_of, new_key

KEY = new_key(UUID("018f4e9a-0000-7000-8000-0123456789ab"))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@given(st.uuids())
def test_a_key_names_its_id(key_id: UUID) -> None:
    made = new_key(key_id)
    assert key_id_of(made.key) == made.id == key_id
    assert set(made.key) <= set(string.ascii_lowercase + string.digits + "_")


def test_a_key_holds_256_bits_that_are_never_the_same() -> None:
    assert SECRET_BYTES == 32
    secrets = {new_key(KEY.id).key.split("_")[2] for _ in range(500)}
    assert len(secrets) == 500
    assert all(len(set(column)) > 1 for column in zip(*secrets, strict=True)), "no fixed letter"


@given(st.integers(0, len(KEY.key) - 1), st.sampled_from(string.printable))
def test_every_mistyped_character_is_told_without_a_look_up(place: int, typed: str) -> None:
    wrong = KEY.key[:place] + typed + KEY.key[place + 1 :]
    if wrong != KEY.key:
        with pytest.raises(errors.KeyRefused, match="mistyped"):
            key_id_of(wrong)


@pytest.mark.parametrize(
    "wrong",
    ["", "idk_", KEY.key[:-1], KEY.key + "a", KEY.key + "\n", f" {KEY.key}", KEY.key.upper(),
     KEY.key.replace("idk", "sk"), "ключ", None, 7, KEY.key.encode()],
    ids=range(12),
)  # fmt: skip
def test_what_is_no_key_is_told_so(wrong: object) -> None:
    with pytest.raises(errors.KeyRefused, match="mistyped") as caught:
        key_id_of(wrong)
    assert KEY.key[8:30] not in str(caught.value)
    assert caught.value.http_status == 401


@given(st.integers(31, len(KEY.key) - 3))
def test_two_swapped_letters_are_told_too(place: int) -> None:
    letters = list(KEY.key)
    letters[place : place + 2] = reversed(letters[place : place + 2])
    wrong = "".join(letters)
    if wrong != KEY.key:
        with pytest.raises(errors.KeyRefused):
            key_id_of(wrong)


def test_what_is_stored_is_a_digest() -> None:
    stored = hash_of(KEY.key)
    assert len(stored) == 32
    assert stored != hash_of(new_key(KEY.id).key)


def test_a_new_key_does_not_show_itself() -> None:
    secret = KEY.key.split("_")[2]
    for said in (repr(KEY), str(KEY), f"{KEY}", repr([KEY]), repr({"made": KEY})):
        assert secret not in said
        assert str(KEY.id) in said
    assert CreatedKey(KEY.id, KEY.key) == KEY


def test_a_note_that_holds_a_key_is_redacted() -> None:
    said, counts = redact(f"The agent uses {KEY.key} for now.", SECRETS)
    assert KEY.key[35:60] not in said
    assert sum(counts.values()) == 1


def test_whether_a_key_holds_follows_from_its_times() -> None:
    key = ApiKey(uuid4(), "a", {"x": 1}, Principal.agent("a"), None, NOW, "ada")
    assert key.state(NOW) is KeyState.ACTIVE
    ending = ApiKey(uuid4(), "a", {}, key.principal, None, NOW, "ada", NOW + timedelta(hours=1))
    assert ending.state(NOW) is KeyState.ACTIVE
    assert ending.state(NOW + timedelta(hours=1)) is KeyState.EXPIRED
    revoked = ApiKey(uuid4(), "a", {}, key.principal, None, NOW, "ada", None, NOW)
    assert revoked.state(NOW) is KeyState.REVOKED
    with pytest.raises(TypeError):
        key.anchor["x"] = 2  # type: ignore[index]
