"""A model's folder runs no code, whatever its own files say about the way to read its weights."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from components.embedders.sentence_transformers import SentenceTransformers
from components.errors import ComponentError
from components.metrics.text2vec import Text2VecSimilarity
from components.records import Passages
from tests.contracts.metric_contract import qa_sample, score_texts
from tests.extras import skip_without
from tests.models.tiny import save_bert, save_sentence_encoder

skip_without("sentence_transformers", "torch")

READERS: dict[str, Callable[[str], object]] = {
    "embedder": lambda folder: SentenceTransformers(folder, "", device="cpu").embed_chunks(Passages(["北京"]), {}),
    "metric": lambda folder: score_texts(Text2VecSimilarity(folder, ""), [qa_sample("北京")], ["北京"]),
}


class MakesFolder:
    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self._mark),)


@pytest.mark.parametrize("reader", READERS)
def test_weights_are_not_unpickled_if_the_models_own_files_ask_for_it(reader: str, tmp_path: Path) -> None:
    import torch

    mark = tmp_path / "it-ran"
    folder = save_sentence_encoder(tmp_path / "model", save_bert(tmp_path / "bert"), max_tokens=64)
    (folder / "model.safetensors").unlink()
    torch.save({"weight": MakesFolder(mark)}, folder / "pytorch_model.bin")
    for name, changes in {
        "sentence_bert_config.json": {"model_args": {"weights_only": False, "dtype": "auto"}},
        "config.json": {"dtype": None},  # the weights are read to find it
    }.items():
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(content | changes), encoding="utf-8")

    with pytest.raises(ComponentError, match="cannot be loaded"):
        READERS[reader](str(folder))

    assert not mark.exists()
