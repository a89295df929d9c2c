"""The cross-encoder, run for real on a model that the test writes itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from idetic.embed import ModelCorrupt, ModelMissing, files
from idetic.errors import IdeticError, InputError
from idetic.recall.rerank import (
    CrossEncoder,
    InstalledReranker,
    Reranker,
    RerankerMissing,
    RerankerUnusable,
    RerankFailed,
    blend,
    weight_of,
)
from tests.support import tiny_models, tiny_onnx

WORDS = {"wire": [3.0], "limit": [2.0], "weather": [-1.0], "is": [0.0], "nan": [float("nan")]}
TEXTS = ["weather is weather", "wire limit", "wire", "is", "something else"]
SCORES = [-2.0, 5.0, 3.0, 0.0, 0.0]


@pytest.fixture
def encoder(tmp_path: Path) -> CrossEncoder:
    return CrossEncoder.load(tiny_onnx.write(tmp_path, WORDS), threads=1)


def test_every_text_gets_its_score_in_order(encoder: CrossEncoder) -> None:
    reranker: Reranker = encoder
    assert reranker.rerank("wire limit", TEXTS) == SCORES


def test_no_texts_no_scores(encoder: CrossEncoder) -> None:
    assert encoder.rerank("wire", []) == []


def test_neither_the_query_nor_padding_counts(encoder: CrossEncoder) -> None:
    long = "is " * 200
    assert encoder.rerank("weather " * 9, [long, "wire", long + "wire"]) == [0.0, 3.0, 3.0]


def test_many_texts_of_all_lengths_keep_their_order(encoder: CrossEncoder) -> None:
    texts = ["is " * (n * 7 % 200) + "wire " * (n % 5) for n in range(120)]
    assert encoder.rerank("limit", texts) == [3.0 * (n % 5) for n in range(120)]


def test_a_long_pair_is_cut_and_not_refused(encoder: CrossEncoder) -> None:
    (score,) = encoder.rerank("limit " * 3000, ["wire " * 3000])
    assert 0 < score < 3.0 * 256


def test_broken_text_is_read_as_far_as_it_goes(encoder: CrossEncoder) -> None:
    assert encoder.rerank("\ud800", ["wire \udfff limit", ""]) == [5.0, 0.0]


def test_two_logits_count_by_their_margin(tmp_path: Path) -> None:
    two = {word: [1.0, 1.0 + weight] for word, (weight,) in WORDS.items()}
    encoder = CrossEncoder.load(tiny_onnx.write(tmp_path, two))
    assert encoder.rerank("wire", TEXTS) == SCORES


def test_a_flat_output_is_understood(tmp_path: Path) -> None:
    encoder = CrossEncoder.load(tiny_onnx.write(tmp_path, WORDS, axes=(1, 2)))
    assert encoder.rerank("wire", TEXTS) == SCORES


def test_a_model_without_segments_gets_none(tmp_path: Path) -> None:
    inputs = ("input_ids", "attention_mask")
    encoder = CrossEncoder.load(tiny_onnx.write(tmp_path, WORDS, inputs=inputs))
    assert encoder.rerank("is", TEXTS) == SCORES
    assert encoder.rerank("wire", ["limit"]) == [5.0], "here the query counts in"


@pytest.mark.parametrize(
    "weights", ["onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx"]
)
def test_the_weights_are_found_where_exporters_put_them(tmp_path: Path, weights: str) -> None:
    encoder = CrossEncoder.load(str(tiny_onnx.write(tmp_path, WORDS, weights=weights)))
    assert encoder.rerank("wire", ["limit"]) == [2.0]


# --- the blend, and the installed one -----------------------------------------------------


def test_both_scores_count_for_a_half() -> None:
    assert blend([3.0, 2.0, 1.0], [-8.0, 2.0, 2.0]) == pytest.approx([0.5, 0.75, 0.5])


def test_the_reranker_counts_less_the_longer_hits_are() -> None:
    assert [weight_of(lengths) for lengths in ([100, 700], [800], [1600, 1600])] == pytest.approx(
        [0.5, 0.125, 0.03125]
    )


def test_equal_scores_leave_the_order_to_the_other_kind() -> None:
    assert blend([1.0, 1.0], [0.0, 5.0]) == pytest.approx([0.5, 1.0])
    assert blend([0.2], [-3.0]) == [1.0]


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_scores_that_are_not_one_for_each_text_are_refused(scores: list[float]) -> None:
    with pytest.raises(RerankFailed):
        blend([0.5, 0.4], scores)


def test_the_installed_reranker_is_used_as_soon_as_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tiny_onnx.write(tmp_path / "ms-marco-MiniLM-L-12-v2", WORDS)
    content = {path.name: path.read_bytes() for path in directory.iterdir()}
    monkeypatch.setattr(files, "RERANKER", tiny_models.tiny(files.RERANKER, content))
    monkeypatch.setenv("IDETIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IDETIC_MODEL_DIR", raising=False)
    reranker: Reranker = InstalledReranker()
    with pytest.raises(ModelMissing, match="idetic model install reranker"):
        reranker.rerank("wire limit", TEXTS)
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(tmp_path))
    (directory / "model.onnx").write_bytes(content["model.onnx"] + b"!")
    with pytest.raises(ModelCorrupt):
        reranker.rerank("wire limit", TEXTS)
    (directory / "model.onnx").write_bytes(content["model.onnx"])
    assert reranker.rerank("wire limit", TEXTS) == SCORES


# --- what is not a reranker ---------------------------------------------------------------


def test_an_empty_directory_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RerankerMissing, match=r"model\.onnx") as caught:
        CrossEncoder.load(tmp_path)
    assert isinstance(caught.value, IdeticError)
    assert caught.value.exit_code == 7
    assert "directory" in caught.value.remedy
    with pytest.raises(RerankerMissing):
        CrossEncoder.load(tmp_path / "nowhere")


def test_a_model_without_its_tokenizer_is_missing_too(tmp_path: Path) -> None:
    (tiny_onnx.write(tmp_path, WORDS) / "tokenizer.json").unlink()
    with pytest.raises(RerankerMissing, match=r"tokenizer\.json"):
        CrossEncoder.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x08"])
def test_weights_that_are_none_are_refused(tmp_path: Path, content: bytes) -> None:
    (tiny_onnx.write(tmp_path, WORDS) / "model.onnx").write_bytes(content)
    with pytest.raises(RerankerUnusable, match="cannot be loaded"):
        CrossEncoder.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"model": {"type": "None"}}'])
def test_a_tokenizer_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tiny_onnx.write(tmp_path, WORDS) / "tokenizer.json").write_bytes(content)
    with pytest.raises(RerankerUnusable, match="cannot be loaded"):
        CrossEncoder.load(tmp_path)


def test_an_input_nobody_can_fill_is_named(tmp_path: Path) -> None:
    inputs = ("input_ids", "pixel_values")
    with pytest.raises(RerankerUnusable, match="pixel_values"):
        CrossEncoder.load(tiny_onnx.write(tmp_path, WORDS, inputs=inputs))


def test_three_logits_are_no_score(tmp_path: Path) -> None:
    three = {word: [1.0, 2.0, 3.0] for word in WORDS}
    with pytest.raises(RerankFailed, match=r"\(1, 3\) for 1 texts"):
        CrossEncoder.load(tiny_onnx.write(tmp_path, three)).rerank("wire", ["limit"])


def test_a_score_that_is_not_a_number_is_never_handed_on(encoder: CrossEncoder) -> None:
    with pytest.raises(RerankFailed, match="not a number"):
        encoder.rerank("wire", ["wire", "nan"])


def test_a_model_that_stops_says_so(tmp_path: Path) -> None:
    """The tokenizer knows more words than the model has weights for."""
    directory = tiny_onnx.write(tmp_path, WORDS)
    tiny_onnx.tokenizer([*WORDS, "unweighed"]).save(str(directory / "tokenizer.json"))
    with pytest.raises(RerankFailed, match="stopped"):
        CrossEncoder.load(directory).rerank("wire", ["unweighed"])


@pytest.mark.parametrize("value", [None, 3, b"bytes"])
def test_only_text_is_reranked(encoder: CrossEncoder, value: object) -> None:
    with pytest.raises(InputError, match="Only text"):
        encoder.rerank("wire", [value])  # type: ignore[list-item]
    with pytest.raises(InputError, match="Only text"):
        encoder.rerank(value, [])  # type: ignore[arg-type]


# --- the parts that need no model ---------------------------------------------------------


def test_importing_the_reranker_loads_no_numerics() -> None:
    heavy = ("numpy", "onnxruntime", "tokenizers")
    program = f"import sys, idetic.recall.rerank; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=60
    )
    assert done.stdout.strip() == b"[]"
