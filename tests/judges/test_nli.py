"""Verdicts of a tiny cross-encoder with three labels."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from components.errors import ComponentError
from components.judges.claim_checks import Check
from components.judges.claim_replies import Support
from components.judges.nli import CrossEncoderEntailment, _load, _verdict
from components.records import Kind, Sample
from runner.launch.request import check_jobs
from tests.extras import skip_without
from tests.models.tiny import save_xlm_roberta_reranker
from tests.runner.sweeping import compose_job

skip_without("sentence_transformers", "torch")

LABELS = {"0": "contradiction", "1": "ENTAILMENT", "2": "neutral"}
MEANINGS = [Support.CONTRADICTED, Support.SUPPORTED, Support.NEITHER]
TEXTS = ("The mill closed.", "Trains use the bridge.", "Fish is sold here.", "The tower is red.")
CLAIMS = ("The mill is closed.", "Nobody uses it.", "It is green.")


def model(folder: Path, labels: dict[str, str]) -> CrossEncoderEntailment:
    save_xlm_roberta_reranker(folder, n_labels=len(labels))
    config = folder / "config.json"
    settings = json.loads(config.read_text(encoding="utf-8"))
    settings |= {"id2label": labels, "label2id": {name: int(number) for number, name in labels.items()}}
    config.write_text(json.dumps(settings), encoding="utf-8")
    return CrossEncoderEntailment(str(folder), device="cpu")


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoderEntailment:
    return model(tmp_path_factory.mktemp("nli"), LABELS)


def check(*texts: str) -> Check:
    return Check("c", Sample("s", "qa", Kind.QA, "?", ()), CLAIMS, texts)


def test_entailment_verdicts_equal_labels_of_sentence_transformers(nli: CrossEncoderEntailment) -> None:
    from sentence_transformers import CrossEncoder

    pairs = [(text, claim) for text in TEXTS for claim in CLAIMS]
    places = CrossEncoder(nli.model, device="cpu").predict(pairs).argmax(axis=1)
    expected = [MEANINGS[place] for place in places.tolist()]
    found = nli.verdicts([check(text) for text in TEXTS])
    assert [verdict.support for own in found for verdict in own] == expected


def test_equal_pairs_have_equal_verdicts_in_any_batch(nli: CrossEncoderEntailment) -> None:
    together = nli.verdicts([check(TEXTS[0]), check(*TEXTS), check(TEXTS[0])])
    assert together[0] == together[2] == replace(nli, batch_size=1).verdicts([check(TEXTS[0])])[0]
    assert nli.verdicts([]) == []


@pytest.mark.parametrize(
    ("relations", "support", "reason"),
    [
        ([Support.NEITHER, Support.SUPPORTED], Support.SUPPORTED, "[2]"),
        ([Support.CONTRADICTED, Support.SUPPORTED], Support.SUPPORTED, "[2]"),
        ([Support.NEITHER, Support.CONTRADICTED], Support.CONTRADICTED, "[2]"),
        ([Support.NEITHER], Support.NEITHER, ""),
        ([], Support.NEITHER, ""),
    ],
)
def test_claim_is_supported_by_a_single_entailing_text(relations: list[Support], support: Support, reason: str) -> None:
    found = _verdict(relations)
    assert (found.support, found.reason) == (support, reason)


@pytest.mark.parametrize("labels", [{"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, {"0": "entailment"}])
def test_entailment_model_without_nli_labels_is_rejected(tmp_path: Path, labels: dict[str, str]) -> None:
    with pytest.raises(ComponentError, match="expected entailment, contradiction and neutral"):
        model(tmp_path / "m", labels).verdicts([check(TEXTS[0])])


def test_float16_entailment_weights_are_computed_in_float32(nli: CrossEncoderEntailment, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    CrossEncoder(nli.model, device="cpu", model_kwargs={"dtype": "float16"}).save_pretrained(str(tmp_path / "m"))
    encoder = _load(str(tmp_path / "m"), "", 512, "cpu")
    assert {str(own.dtype) for own in encoder.parameters()} == {"torch.float32"}


def test_non_finite_entailment_scores_are_an_error(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    damaged = model(tmp_path / "m", LABELS)
    weights = load_file(tmp_path / "m" / "model.safetensors")
    weights["classifier.out_proj.bias"] *= float("nan")
    save_file(weights, tmp_path / "m" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ComponentError, match="NaN or infinite scores for 3 of 3 pairs"):
        damaged.verdicts([check(TEXTS[0])])


def test_entailment_option_needs_no_request_for_verdicts(nli: CrossEncoderEntailment) -> None:
    overrides = ("judge=claims", "judge/entailment=cross_encoder", f"judge.entailment.model={nli.model}")
    (request,) = check_jobs([compose_job(*overrides, "llm@judge.llm=rehearsal")])
    metric = request.cell.judge.scores["claims"]
    assert metric.entailment == replace(nli, device="auto")  # type: ignore[attr-defined]
    assert metric.n_requests_per_sample(5) == 1


def test_entailment_rejects_an_empty_model_and_max_length_one() -> None:
    assert any("model" in problem for problem in CrossEncoderEntailment("").check())
    assert np.any(["max_length: got 1" in own for own in CrossEncoderEntailment("x", max_length=1).check()])
