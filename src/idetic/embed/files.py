"""The pinned models: files by size and SHA-256, looked for on this machine, checked on use."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from idetic.errors import InputError

from .port import EmbeddingModel, ModelCorrupt, ModelMissing

MODEL_VARIABLE = "IDETIC_MODEL"
MODEL_DIR_VARIABLE = "IDETIC_MODEL_DIR"
PROVENANCE = "provenance.json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """One file of a model, as it must be."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PinnedModel:
    """One model as it must be: its name, its form, its two files."""

    key: str
    """What `idetic model` and the setting call it."""
    role: str
    name: str
    precision: str
    folder: str
    """Its directory below `models`, and below a directory that holds several."""
    tokenizer: PinnedFile
    weights: PinnedFile

    @property
    def files(self) -> tuple[PinnedFile, PinnedFile]:
        """Both files, the small one first: a missing model is noticed before much is hashed."""
        return self.tokenizer, self.weights


_BGE = "bge-small-en-v1.5"
_BGE_TOKENIZER = PinnedFile(
    "tokenizer.json", 711_396, "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
)
_INT8_WEIGHTS = PinnedFile(
    "model.onnx", 34_015_106, "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"
)
_FP16_WEIGHTS = PinnedFile(
    "model_optimized.onnx",
    66_465_124,
    "51f1bd0addd6e859e42c2c8021a5e5461385bb676a649f4b269aa445449f2431",
)
_RERANKER_TOKENIZER = PinnedFile(
    "tokenizer.json", 711_661, "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"
)
_RERANKER_WEIGHTS = PinnedFile(
    "model.onnx", 34_001_604, "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
)
_EMBEDS, _MINILM = "embedding model", "ms-marco-MiniLM-L-12-v2"
INT8 = PinnedModel("int8", _EMBEDS, _BGE, "int8", f"{_BGE}-int8", _BGE_TOKENIZER, _INT8_WEIGHTS)
FP16 = PinnedModel("fp16", _EMBEDS, _BGE, "fp16", _BGE, _BGE_TOKENIZER, _FP16_WEIGHTS)
RERANKER = PinnedModel(
    "reranker", "reranker", _MINILM, "int8", _MINILM, _RERANKER_TOKENIZER, _RERANKER_WEIGHTS
)
# The form that a new install brings, and that loads where both are installed.
DEFAULT = INT8
FORMS = (DEFAULT, *(form for form in (INT8, FP16) if form is not DEFAULT))


def pinned(key: str) -> PinnedModel:
    """The model that a command or the setting names."""
    known = {model.key: model for model in (*FORMS, RERANKER)}
    if key not in known:
        raise InputError(f"There is no model {key!r}.", remedy=f"Name one of: {', '.join(known)}.")
    return known[key]


def usable_forms() -> tuple[PinnedModel, ...]:
    """The forms of the embedding model that may be loaded: the one the setting names, or all."""
    key = os.environ.get(MODEL_VARIABLE)
    if not key:
        return FORMS
    keys = [form.key for form in FORMS]
    if key not in keys:
        raise ModelMissing(
            f"{MODEL_VARIABLE} names {key!r}, which is not a variant of the embedding model.",
            remedy=f"Set {MODEL_VARIABLE} to one of: {', '.join(keys)}; or unset it.",
        )
    return (pinned(key),)


def profile(form: PinnedModel) -> EmbeddingModel:
    """What a form's vectors are stored under. The two forms never share a profile."""
    return EmbeddingModel(
        name=form.name,
        dimensions=384,
        max_tokens=512,
        precision=form.precision,
        weights_sha256=form.weights.sha256,
        tokenizer_sha256=form.tokenizer.sha256,
    )


def read(directory: Path, file: PinnedFile) -> bytes:
    """The file's bytes, checked: what the caller uses is what was checked.

    Hashing 66 MB costs 44 ms, a sixth of what onnxruntime then needs to load them.
    """
    path = directory / file.name
    try:
        if (size := path.stat().st_size) != file.size:
            raise ModelCorrupt(f"{path} has {size:,} bytes instead of {file.size:,}.")
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelMissing(f"There is no {file.name} in {directory}.") from error
    except OSError as error:
        raise ModelMissing(f"{path} cannot be read: {error.strerror or error}.") from error
    if (digest := hashlib.sha256(content).hexdigest()) != file.sha256:
        raise ModelCorrupt(f"{path} has SHA-256 {digest} instead of {file.sha256}.")
    return content


def contents(directory: Path, model: PinnedModel) -> tuple[bytes, bytes]:
    """The tokenizer and the weights, each checked; raises `ModelMissing` or `ModelCorrupt`."""
    return read(directory, model.tokenizer), read(directory, model.weights)


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """One directory to look for a model in."""

    name: str
    path: Path


def cache_directory(model: PinnedModel) -> ModelDirectory:
    """Where `install` puts a model: below the same home as the embedded database."""
    # Imported here: it brings the driver along, which importing this package must not.
    from idetic.store.embedded.home import Home  # noqa: PLC0415

    return ModelDirectory("local cache", Home.at(None).path / "models" / model.folder)


def named_directory(model: PinnedModel) -> ModelDirectory | None:
    """The directory the user names, for closed networks: the model's own, or one that holds it.

    The reranker has its own folder there, because its files have the same names.
    """
    if not (named := os.environ.get(MODEL_DIR_VARIABLE)):
        return None
    path = Path(named).expanduser().resolve()
    if model is RERANKER or (path / model.folder).is_dir():
        path /= model.folder
    return ModelDirectory(MODEL_DIR_VARIABLE, path)


def places(models: Sequence[PinnedModel]) -> Iterator[tuple[ModelDirectory, PinnedModel]]:
    """Where each model may lie: what the user names comes before the cache, whatever its form."""
    for model in models:
        if named := named_directory(model):
            yield named, model
    for model in models:
        yield cache_directory(model), model


def first_usable(
    use: Callable[[Path, PinnedModel], T],
    models: Sequence[PinnedModel],
    chosen: ModelDirectory | None = None,
    passed_over: Callable[[str], None] = lambda _why: None,
) -> tuple[ModelDirectory, PinnedModel, T]:
    """The first directory that `use` accepts, with which model, and what it made of it.

    Without a directory given, the one the user names and the local cache are tried. One that is
    wrong is passed over, not fatal: which form was found is told, and its profile names it.
    """
    failures: list[ModelMissing | ModelCorrupt] = []
    for place, model in ((chosen, m) for m in models) if chosen else places(models):
        try:
            return place, model, use(place.path, model)
        except (ModelMissing, ModelCorrupt) as error:
            # That the other form is not there either would only be noise.
            if model is models[0] or isinstance(error, ModelCorrupt):
                failures.append(error)
                passed_over(f"{place.name}: {error.message}")
    reasons = " ".join(error.message for error in failures)
    command = "idetic model install" + (f" {models[0].key}" if len(models) == 1 else "")
    corrupt = any(isinstance(error, ModelCorrupt) for error in failures)
    state, kind = ("usable", ModelCorrupt) if corrupt else ("installed", ModelMissing)
    raise kind(f"The {models[0].role} is not {state}. {reasons}", remedy=f"Run `{command}`.")
