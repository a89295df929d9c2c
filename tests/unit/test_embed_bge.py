"""The parts of the embedder that need no model."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idetic.embed.bge import _BATCH_TOKENS, _clean, token_batches
from idetic.errors import InputError


@given(st.lists(st.integers(min_value=2, max_value=512), max_size=200))
def test_batches_hold_every_row_once_and_stay_within_bounds(lengths: list[int]) -> None:
    batches = list(token_batches(lengths))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(lengths[row] for row in batch) <= _BATCH_TOKENS


@given(st.text(st.characters(), max_size=50))
def test_cleaned_text_is_always_encodable(text: str) -> None:
    _clean(text).encode("utf-8")


def test_cleaning_keeps_text_as_it_is() -> None:
    assert _clean("naïve 🎉 日本") == "naïve 🎉 日本"


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert _clean("a\ud800b") == "a�b"
    assert _clean("\ud83c\udf89") == "🎉"


def test_white_space_does_not_use_up_a_long_text() -> None:
    assert _clean(" " * 1_000_000 + "memory") == "memory"
    assert len(_clean("word " * 250_000)) <= 32_768


@pytest.mark.parametrize("value", [None, 3, b"bytes"])
def test_only_text_is_embedded(value: object) -> None:
    with pytest.raises(InputError, match="Only text"):
        _clean(value)  # type: ignore[arg-type]


def test_importing_the_room_loads_no_numerics() -> None:
    heavy = ("numpy", "onnxruntime", "tokenizers", "huggingface_hub")
    program = f"import sys, idetic.embed; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=60
    )
    assert done.stdout.strip() == b"[]"
