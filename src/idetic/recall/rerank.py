"""Reranking on top of fusion: a cross-encoder reads the query and a text together.

Its scores are blended with the fused ones and never replace them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, Self

from idetic.embed import files
from idetic.embed.bge import token_batches
from idetic.errors import IdeticError, InputError

# Where exporters put the weights, the exact ones before the quantized.
_WEIGHTS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_TOKENIZER = "tokenizer.json"
_PADS = ("[PAD]", "<pad>", "<|endoftext|>")
_CPU = "CPUExecutionProvider"

# How many hits a reranker looks at.
RERANKED = 20
# The reranker's share of the blend where hits are brief; it falls with the square of their length.
# On the development part of BEAM, whose messages are long, any fixed share cost R@10.
WEIGHT = 0.5
# A hit of fewer characters is read with what was said before it: alone, "Yes, last week!" answers
# nothing, and the reranker lowered R@10 on LoCoMo instead of raising it.
BRIEF = 400
# A question and a text together are cut to this: somebody waits while twenty of them are read.
MAX_TOKENS = 256
# Far above 512 tokens of any script; what lies beyond would only cost tokenizing time.
_MAX_CHARACTERS = 8192


class RerankerError(IdeticError, code="reranker", http_status=503, exit_code=7):
    """The reranker failed."""

    remedy = "Recall without it: set `reranker: none` under `retrieval` in the spec."


class RerankerMissing(RerankerError, code="reranker_missing"):
    """There is no reranker in this directory."""

    remedy = "Name a directory that holds model.onnx and tokenizer.json of a cross-encoder."


class RerankerUnusable(RerankerError, code="reranker_unusable"):
    """These files are not a cross-encoder that can be run."""

    remedy = "Export the model again for sequence classification, with tokenizer.json beside it."


class RerankerRuntimeMissing(RerankerError, code="reranker_runtime_missing"):
    """The packages that run a reranker are not installed."""

    remedy = "Run `pip install onnxruntime tokenizers numpy`."


class RerankFailed(RerankerError, code="rerank_failed", http_status=500):
    """The reranker returned something that is not one score for each text."""


class Reranker(Protocol):
    """Scores texts against a query."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, in their order; higher is better, within one call only."""
        ...


class CrossEncoder:
    """Any ONNX cross-encoder with one or two logits. Safe to share between threads."""

    def __init__(self, session: Any, tokenizer: Any, *, max_tokens: int = MAX_TOKENS) -> None:
        self._session = session
        self._inputs = {each.name: each for each in session.get_inputs()}
        if unknown := sorted(set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}):
            raise RerankerUnusable(f"The model asks for {', '.join(unknown)}.")
        outputs = [each.name for each in session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]
        self._pad = _pad(tokenizer)
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)

    @classmethod
    def load(cls, directory: Path | str, *, threads: int | None = None) -> Self:
        """The cross-encoder in this directory; nothing is downloaded.

        Raises `RerankerMissing`, `RerankerUnusable` or `RerankerRuntimeMissing`.
        """
        place = Path(directory).expanduser()
        weights = next((path for name in _WEIGHTS if (path := place / name).is_file()), None)
        if weights is None:
            raise RerankerMissing(f"There is no {' or '.join(_WEIGHTS)} in {place}.")
        if not (place / _TOKENIZER).is_file():
            raise RerankerMissing(f"There is no {_TOKENIZER} in {place}.")
        return cls(_session(weights, threads), _tokenizer(place / _TOKENIZER))

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, in their order: the logit, or the margin between the two."""
        asked = _clean(query)
        rows = self._tokenizer.encode_batch([(asked, _clean(text)) for text in texts])
        scores = [0.0] * len(rows)
        for batch in token_batches([len(row.ids) for row in rows]):
            for row, score in zip(batch, self._run([rows[row] for row in batch]), strict=True):
                scores[row] = score
        return scores

    def _run(self, rows: list[Any]) -> list[float]:
        """The scores of some pairs of query and text, in one call of the model."""
        import numpy as np  # noqa: PLC0415 - importing idetic stays light

        width = max(len(row.ids) for row in rows)
        feed = {}
        for name, given in self._inputs.items():
            fill, values = self._values(name, rows)
            # onnxruntime says `tensor(int64)`, numpy `int64`.
            table = np.full((len(rows), width), fill, dtype=given.type[7:-1])
            for line, value in zip(table, values, strict=True):
                line[: len(value)] = value
            feed[name] = table
        try:
            (logits,) = self._session.run([self._output], feed)
        except _onnx_errors() as error:
            raise RerankFailed(f"The reranker stopped: {error}.") from error
        return _scores(np.asarray(logits, dtype=np.float64), len(rows))

    def _values(self, name: str, rows: list[Any]) -> tuple[int, list[list[int]]]:
        """An input's padding and its rows."""
        if name == "input_ids":
            return self._pad, [row.ids for row in rows]
        return 0, [row.attention_mask if name == "attention_mask" else row.type_ids for row in rows]


class InstalledReranker:
    """The reranker that `idetic model install reranker` brought, loaded when it is first asked."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """As `Reranker`; raises `ModelMissing` or `ModelCorrupt` if it is not installed whole."""
        _, _, encoder = files.first_usable(_checked, (files.RERANKER,))
        return encoder.rerank(query, texts)


@cache
def _checked(directory: Path, model: files.PinnedModel) -> CrossEncoder:
    """The cross-encoder of a directory whose files are the pinned ones; one for all agents."""
    files.contents(directory, model)
    return CrossEncoder.load(directory)


def weight_of(lengths: Sequence[int]) -> float:
    """The reranker's share of the blend for hits of so many characters."""
    return WEIGHT * min(1.0, BRIEF * len(lengths) / max(sum(lengths), 1)) ** 2


def blend(fused: Sequence[float], reranked: Sequence[float], weight: float = WEIGHT) -> list[float]:
    """Both scores of each hit as one, from 0 to 1: each kind scaled by its least and greatest."""
    if len(fused) != len(reranked) or not all(map(math.isfinite, reranked)):
        raise RerankFailed
    pairs = zip(_scaled(fused), _scaled(reranked), strict=True)
    return [(1 - weight) * ours + weight * theirs for ours, theirs in pairs]


def _scaled(scores: Sequence[float]) -> list[float]:
    """Scores moved to 0..1; where all are equal, each is the greatest."""
    least, span = min(scores), max(scores) - min(scores)
    return [(score - least) / span if span else 1.0 for score in scores]


def _pad(tokenizer: Any) -> int:
    """Masked either way, but RoBERTa counts positions by what is not padding."""
    if tokenizer.padding:
        return int(tokenizer.padding["pad_id"])
    known = (tokenizer.token_to_id(pad) for pad in _PADS)
    return next((pad for pad in known if pad is not None), 0)


def _scores(logits: Any, rows: int) -> list[float]:
    """(n,) and (n, 1) are scores; of (n, 2) the second is 'relevant', so the margin counts."""
    if logits.shape == (rows, 2):
        logits = logits[:, 1] - logits[:, 0]
    if logits.shape not in ((rows,), (rows, 1)):
        raise RerankFailed(f"The reranker gave {logits.shape} for {rows} texts.")
    scores: list[float] = logits.reshape(rows).tolist()
    if not all(map(math.isfinite, scores)):
        raise RerankFailed("The reranker gave a score that is not a number.")
    return scores


def _session(weights: Path, threads: int | None) -> Any:
    """The model, loaded onto the CPU; without its runtime or its file, an error that says so."""
    try:
        import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 - keep idetic light
    except ImportError as error:
        raise RerankerRuntimeMissing(f"The reranker cannot run: {error}.") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or min(4, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # As for the embedder: idle threads sleep, because PostgreSQL shares the machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        # By path and not by content: large models keep their weights in a file beside it.
        return onnxruntime.InferenceSession(str(weights), options, providers=[_CPU])
    except _onnx_errors() as error:
        raise RerankerUnusable(f"{weights} cannot be loaded: {error}.") from error


def _onnx_errors() -> tuple[type[Exception], ...]:
    """onnxruntime's errors have no common root but Exception; this is all of them."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # type: ignore[import-untyped]  # noqa: PLC0415

    found = (value for value in vars(state).values() if isinstance(value, type))
    return tuple(value for value in found if issubclass(value, Exception))


def _tokenizer(path: Path) -> Any:
    """The model's tokenizer, loaded; without its package or its file, an error that says so."""
    try:
        import tokenizers  # noqa: PLC0415
    except ImportError as error:
        raise RerankerRuntimeMissing(f"The reranker cannot run: {error}.") from error
    try:
        # From memory, which fails with a ValueError; from a file, with nothing but Exception.
        return tokenizers.Tokenizer.from_buffer(path.read_bytes())
    except (OSError, ValueError) as error:
        raise RerankerUnusable(f"{path} cannot be loaded: {error}.") from error


def _clean(text: str) -> str:
    """A text that the tokenizer can take: of bounded length, and valid as UTF-8."""
    if not isinstance(text, str):
        raise InputError(f"Only text can be reranked, not {type(text).__name__}.")
    return text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
