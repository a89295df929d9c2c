"""The real model: installed through `install`, as `make test` does."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from idetic.embed import (
    BgeSmall,
    Embedder,
    EmbeddingFailed,
    Installed,
    ModelCorrupt,
    files,
    install,
    load,
    status,
    verify,
)

SENTENCES = [
    "Wire transfers above 10,000 need a second approval.",
    "A second person has to approve large wire transfers.",
    "The cat sleeps on the warm windowsill.",
    "Caroline: I went to a LGBTQ support group yesterday and it was so powerful. " * 8,
    "",
]


@pytest.fixture(scope="module")
def installed() -> Installed:
    return install(key=files.DEFAULT.key)


@pytest.fixture(scope="module")
def model(installed: Installed) -> BgeSmall:
    return load(installed.path, threads=2)


def test_it_is_an_embedder_of_the_pinned_profile(model: BgeSmall) -> None:
    embedder: Embedder = model
    assert (embedder.profile.name, embedder.profile.dimensions) == ("bge-small-en-v1.5", 384)
    assert embedder.profile.precision == files.DEFAULT.precision


def test_vectors_are_unit_float32_rows(model: BgeSmall) -> None:
    vectors = model.embed(SENTENCES)
    assert vectors.shape == (len(SENTENCES), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert model.embed([]).shape == (0, 384)


def test_meaning_is_near_and_other_things_are_far(model: BgeSmall) -> None:
    vectors = model.embed(SENTENCES)
    assert vectors[0] @ vectors[1] > 0.8
    assert vectors[0] @ vectors[2] < 0.5


def test_it_is_deterministic(model: BgeSmall) -> None:
    first, second = model.embed(SENTENCES), model.embed(SENTENCES)
    assert np.array_equal(first, second)


def test_a_question_has_a_prefix_of_its_own(model: BgeSmall) -> None:
    told, asked = model.embed(SENTENCES), model.embed(SENTENCES, query=True)
    near = (told * asked).sum(axis=1)
    assert (near < 0.999).all()
    assert (near > 0.5).all()


def test_a_batch_gives_what_single_calls_give_in_the_order_asked(model: BgeSmall) -> None:
    batch = model.embed(SENTENCES)
    single = np.concatenate([model.embed([sentence]) for sentence in SENTENCES])
    assert np.abs(batch - single).max() < 1e-6, "a vector does not depend on what is beside it"


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "a\x00b", "🎉👩‍👩‍👧", "\ud800", "\ud83c\udf89", "memory " * 150_000]
)
def test_any_string_has_a_vector(model: BgeSmall, text: str) -> None:
    vector = model.embed([text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_what_lies_beyond_512_tokens_is_not_seen(model: BgeSmall) -> None:
    start = "memory " * 600
    one, other = model.embed([start + "apples", start + "oranges"])
    assert np.allclose(one, other, atol=1e-6)


def test_threads_share_it(model: BgeSmall) -> None:
    alone = model.embed(SENTENCES[:3])
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: model.embed(SENTENCES[:3]), range(8)):
            assert np.array_equal(vectors, alone)


def test_a_result_that_is_no_number_is_refused(
    model: BgeSmall, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = np.full((1, 384), np.nan, dtype=np.float32)
    monkeypatch.setattr(model, "_run", lambda _batch: broken)
    with pytest.raises(EmbeddingFailed):
        model.embed(["text"])


def test_the_installed_model_is_verified(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(installed.path))
    found = verify()
    assert found == status()
    assert found.verified
    assert found.path == installed.path
    assert found.source
    assert found.weights_sha256 == files.DEFAULT.weights.sha256


def test_one_flipped_byte_is_noticed(installed: Installed, tmp_path: Path) -> None:
    shutil.copytree(installed.path, tmp_path, dirs_exist_ok=True)
    weights = tmp_path / files.DEFAULT.weights.name
    with weights.open("r+b") as file:
        file.seek(33_000_000)
        byte = file.read(1)
        file.seek(33_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ModelCorrupt, match="SHA-256"):
        load(tmp_path)
