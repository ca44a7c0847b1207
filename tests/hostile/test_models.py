"""A model's folder runs no code, whatever its files say about how to read the weights."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from components.embedders.sentence_transformers import SentenceTransformers
from components.errors import ComponentError
from components.judges.claim_checks import Check
from components.judges.nli import CrossEncoderEntailment
from components.metrics.text2vec import Text2VecSimilarity
from components.records import Kind, Passages, Sample
from components.rerankers.cross_encoder import Activation, PretrainedCrossEncoder
from tests.contracts.metric_contract import qa_sample, score_texts
from tests.extras import skip_without
from tests.models.tiny import save_bert, save_sentence_encoder, save_xlm_roberta_reranker
from tests.rerankers.pretrained import scores_of, text_pairs

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
def test_model_config_cannot_enable_unpickling_of_weights(reader: str, tmp_path: Path) -> None:
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


FUNCTION = "torch.utils.collect_env.main"
"""It prints a report."""

NAMING_IT: dict[str, tuple[str, dict[str, object]]] = {
    "config": ("config.json", {"sentence_transformers": {"activation_fn": FUNCTION}}),
    "config of an old model": ("config.json", {"sbert_ce_default_activation_function": FUNCTION}),
    "config of sentence-transformers": ("config_sentence_transformers.json", {"activation_fn": FUNCTION}),
}


def cross_encoder_naming(place: str, folder: Path, labels: tuple[str, ...]) -> str:
    save_xlm_roberta_reranker(folder, n_labels=len(labels))
    name, content = NAMING_IT[place]
    for file, added in (("config.json", {"id2label": dict(enumerate(labels))}), (name, content)):
        path = folder / file
        present = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        path.write_text(json.dumps(present | added), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("place", NAMING_IT)
def test_cross_encoder_activation_function_is_not_called(
    place: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reranker = cross_encoder_naming(place, tmp_path / "reranker", ("relevant",))
    judge = cross_encoder_naming(place, tmp_path / "judge", ("entailment", "neutral", "contradiction"))

    scores_of(PretrainedCrossEncoder(reranker, device="cpu"), text_pairs())
    with pytest.raises(ComponentError, match=f"name {FUNCTION} as the activation"):
        scores_of(PretrainedCrossEncoder(reranker, activation=Activation.MODEL, device="cpu"), text_pairs())
    check = Check("c", Sample("s", "qa", Kind.QA, "?", ()), ("北京",), ("上海",))
    CrossEncoderEntailment(judge, device="cpu").verdicts([check])

    assert "PyTorch version" not in capfd.readouterr().out


@pytest.mark.parametrize("name", ["own.Own", "os.getcwd"])
def test_cross_encoder_activation_outside_of_torch_is_refused(name: str, tmp_path: Path) -> None:
    folder = save_xlm_roberta_reranker(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["sentence_transformers"] = {"activation_fn": name}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")

    with pytest.raises(ComponentError, match=rf"name {name} as the activation, expected a class of torch\.nn"):
        scores_of(PretrainedCrossEncoder(str(folder), activation=Activation.MODEL, device="cpu"), text_pairs())
