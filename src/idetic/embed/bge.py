"""BAAI/bge-small-en-v1.5 on onnxruntime: 512 tokens, the first token's state, L2-normalised."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idetic.errors import InputError

from . import files
from .port import EmbeddingFailed, EmbeddingModel, RuntimeMissing

if TYPE_CHECKING:
    from .port import Vectors

# Rows of similar length share a batch, and a batch holds at most this many tokens with its
# padding. 256 LoCoMo turns (8,561 tokens), 2 cores, sorted by length: 3.8 s one by one,
# 3.1 s at 256 tokens, 3.0 s at 1,024, 4.6 s at 4,096, 6.1 s at 16,384; unsorted, 5.4 s at
# 1,024.
_BATCH_TOKENS = 1024
# The int8 form scales its activations over a whole call, so a text's vector would depend on what
# shares its batch: down to a cosine of 0.991 with the vector it has alone. Each text alone costs
# 7 % more processor time (240 texts, one thread: 12.9 s instead of 12.0) and is always the same.
_ALONE = 1
# One query on 2 cores: 12 ms with one thread, 8.5 ms with two. More than four was not
# measured; it would take cores from PostgreSQL, which may share the machine.
_MAX_THREADS = 4
# 512 tokens of English are some 2,500 characters; tokenizing 1 MB only to drop nearly all
# of it costs 0.7 s, 32,768 characters 0.05 s.
_MAX_CHARACTERS = 32_768

_CLS, _PAD = 0, 0
_QUERY = "Represent this sentence for searching relevant passages: "


class BgeSmall:
    """The pinned model, loaded. Safe to share between threads.

    Both forms run as shipped. A cast of fp16 to fp32 scores the same on STS-B (0.8586, 0.8587)
    and was 3 to 7 % faster in batches of 64, equal for one query: not worth twice the size and
    a package to do the cast.
    """

    def __init__(
        self,
        profile: EmbeddingModel,
        weights: bytes,
        tokenizer: bytes,
        *,
        threads: int | None = None,
    ) -> None:
        try:
            import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 - keep idetic light
            import tokenizers  # noqa: PLC0415
        except ImportError as error:
            raise RuntimeMissing(f"The embedding model cannot run: {error}.") from error
        self.profile = profile
        self._batch_tokens = _ALONE if profile.precision == "int8" else _BATCH_TOKENS
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or min(_MAX_THREADS, _cores())
        options.inter_op_num_threads = 1
        # Idle threads sleep instead of spinning, because PostgreSQL shares the machine: 15 ms
        # of processor time a query instead of 20, for 8.5 ms of latency instead of 7.1
        # (quiet; under load 13 instead of 22, and 10.6 instead of 9.8).
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            weights, options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = tokenizers.Tokenizer.from_str(tokenizer.decode("utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.profile.max_tokens)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """One unit vector per text.

        A `query` has the model's own prefix, which finds more (decision 0035).
        """
        import numpy as np  # noqa: PLC0415 - importing idetic stays light

        prefix = _QUERY if query else ""
        tokens = [
            row.ids for row in self._tokenizer.encode_batch([prefix + _clean(t) for t in texts])
        ]
        vectors = np.empty((len(tokens), self.profile.dimensions), dtype=np.float32)
        for rows in token_batches([len(ids) for ids in tokens], self._batch_tokens):
            vectors[rows] = self._run([tokens[row] for row in rows])
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise EmbeddingFailed
        vectors /= norms
        return vectors

    def _run(self, batch: list[list[int]]) -> Vectors:
        """The first token's state for each text of a batch, padded to the longest of them."""
        import numpy as np  # noqa: PLC0415

        width = max(map(len, batch))
        ids = np.full((len(batch), width), _PAD, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = self._session.run(["last_hidden_state"], feed)
        first: Vectors = states[:, _CLS].astype(np.float32)
        return first


def load(model_dir: Path | None = None, *, threads: int | None = None) -> BgeSmall:
    """The model from `model_dir`, else from wherever it is installed; the form that lies there.

    Where both do, it is the default one, unless `IDETIC_MODEL` names the other. Raises
    `ModelMissing` or `ModelCorrupt`; never downloads, never takes another model.
    """
    given = files.ModelDirectory("given directory", model_dir) if model_dir else None
    _, form, (tokenizer, weights) = files.first_usable(files.contents, files.usable_forms(), given)
    return BgeSmall(files.profile(form), weights, tokenizer, threads=threads)


def _clean(text: str) -> str:
    """The text as the tokenizer can take it: bounded, no lone surrogates."""
    if not isinstance(text, str):
        raise InputError(f"Only text can be embedded, not {type(text).__name__}.")
    if len(text) > _MAX_CHARACTERS:
        # White space counts for nothing in tokens, so it must not use up the characters.
        text = " ".join(text.split())[:_MAX_CHARACTERS]
    if text.isascii():
        return text
    # By way of UTF-16, which also joins a surrogate pair that was split into two characters.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def token_batches(lengths: Sequence[int], most: int = _BATCH_TOKENS) -> Iterator[list[int]]:
    """Row numbers in groups of similar length, bounded by tokens with padding."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Sorted upwards, so this row's length is what the whole batch would be padded to.
        if batch and lengths[row] * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _cores() -> int:
    """How many cores this process may use, which can be fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1
