"""Models with missing weights are rejected, because these would be random."""

from pathlib import Path

import pytest

from components.embedders.sentence_transformers import SentenceTransformers
from components.errors import ComponentError
from components.records import Passages
from tests.extras import skip_without
from tests.models.tiny import save_bert

skip_without("sentence_transformers", "torch")


def bert_without(folder: Path, part: str) -> SentenceTransformers:
    from safetensors.torch import load_file, save_file

    file = save_bert(folder) / "model.safetensors"
    weights = {name: weight for name, weight in load_file(file).items() if part not in name}
    save_file(weights, file, metadata={"format": "pt"})
    return SentenceTransformers(str(folder), "")


def test_error_names_the_missing_model_layer(tmp_path: Path) -> None:
    embedder = bert_without(tmp_path / "bert", "layer.1.output")
    with pytest.raises(ComponentError, match=r"lacks 4 of its weights, e\.g\. encoder\.layer\.1\.output"):
        embedder.embed_queries(Passages(["a"]), {})


def test_missing_layer_is_reported_despite_a_silenced_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.utils import logging

    monkeypatch.setattr(logging._get_library_root_logger(), "level", 50)
    with pytest.raises(ComponentError, match="which would be random"):
        bert_without(tmp_path / "bert", "layer.1.output").embed_queries(Passages(["a"]), {})


def test_missing_unused_weights_are_accepted(tmp_path: Path) -> None:
    assert bert_without(tmp_path / "bert", "pooler").embed_queries(Passages(["a"]), {}).any()
