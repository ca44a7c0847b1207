"""BERTScore: match of the token vectors of an answer and a reference in a language model."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.limits import too_small
from components.means import combine_mean
from components.metrics.text_pairs import Pair, best_text_over_references
from components.pretrained.load_once import load_once
from components.pretrained.model_files import has_safetensors
from components.pretrained.model_folder import (
    explain_load_errors,
    hash_folder,
    missing_package_errors,
    model_problems,
    torch_device,
)
from components.protocols import TextForm
from components.records import Sample, Scores, TextsWithUnits

_PACKAGES = ("bert_score", "torch", "transformers")
_NEEDED_BY = "the metric bert_score"


@dataclass(frozen=True)
class BertScore:
    """F1 of greedily matched token vectors, as in the package bert-score 0.3.13; the best over the references.

    There are no IDF weights and no rescaling by a baseline.
    Level: sample. Range: at most 1, with trained models between 0.3 and 1, no unit, larger is better. Tokenizer: the
    model's. It reads answers and references up to the model's maximum length (512 tokens for BERT, about as many
    Chinese characters). Empty answer: 0. Blank references are left out; a sample that has no other reference is
    NOT_APPLICABLE.
    Source: Zhang et al. 2020, "BERTScore: Evaluating Text Generation with BERT", equations for P, R and F_BERT.

    `model` is a BERT-like encoder (BERT, RoBERTa, MacBERT, ELECTRA, DeBERTa): an id on the Hugging Face hub with its
    commit as `revision`, or a local folder with revision "". `num_layers` is the number of the compared layer, from 1.
    The default of bert-score is 8 for bert-base-chinese. No code from the model's folder is run.
    """

    model: str
    revision: str
    num_layers: int
    batch_size: int = runtime_only(32, "pairs are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True
    is_share: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("bert_score",)."""
        return ("bert_score",)

    @property
    def form(self) -> TextForm | None:
        """None: the model reads whole texts."""
        return None

    def check(self) -> list[str]:
        """Return an error message for missing packages, an invalid model, or numbers below 1."""
        problems = [str(error) for error in missing_package_errors(_PACKAGES, _NEEDED_BY)]
        problems += model_problems(self.model, self.revision)
        return problems + too_small(self, num_layers=1, batch_size=1)

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, or "" for an id of the hub, whose revision identifies its
        content.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the BERTScore F1 of each answer. Raises ComponentError if the model cannot be loaded or has too few
        layers.
        """
        return {"bert_score": best_text_over_references(samples, answers, references, self._f1)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _f1(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        encoder = _load(self.model, self.revision, self.num_layers, self.device)
        values = np.empty(len(pairs), dtype=np.float64)
        # Batches hold pairs of similar length. bert-score itself orders texts by words between spaces, which Chinese
        # lacks, and holds the vectors of all tokens of all texts until the end.
        by_length = sorted(range(len(pairs)), key=lambda number: sum(map(len, pairs[number])))
        for first in range(0, len(pairs), self.batch_size):
            numbers = by_length[first : first + self.batch_size]
            values[numbers] = encoder.f1([pairs[number] for number in numbers])
        return values


class _Encoder(NamedTuple):
    """A model without the layers above the compared one, its tokenizer and its device."""

    network: Any
    tokenizer: Any
    device: str

    def f1(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        from bert_score.utils import bert_cos_score_idf

        answers, references = map(list, zip(*pairs, strict=True))
        weights: defaultdict[int, float] = defaultdict(lambda: 1.0)
        weights[self.tokenizer.cls_token_id] = weights[self.tokenizer.sep_token_id] = 0.0
        # One batch for all texts: bert-score takes batches from a set, whose order differs between processes.
        scores = bert_cos_score_idf(
            self.network, references, answers, self.tokenizer, weights, batch_size=2 * len(pairs), device=self.device
        )
        f1: NDArray[np.float64] = scores[:, 2].numpy().astype(np.float64)
        return f1.clip(max=1.0)  # rounding can exceed 1 for identical texts


@load_once
def _load(model: str, revision: str, num_layers: int, device: str) -> _Encoder:
    """Load the model once per process.

    BERTScorer would load it by name alone: without a revision, with pickled weights, and as a T5 model if its path
    contains "t5".
    """
    if missing := missing_package_errors(_PACKAGES, _NEEDED_BY):
        raise missing[0]
    from transformers import AutoModel, AutoTokenizer

    pinned = {"revision": revision or None, "trust_remote_code": False}
    with explain_load_errors(model, revision) as name:
        tokenizer = AutoTokenizer.from_pretrained(name, **pinned)
        network = AutoModel.from_pretrained(name, use_safetensors=has_safetensors(model, revision), **pinned)
    layers = getattr(getattr(network, "encoder", None), "layer", None)
    if layers is None:
        raise ComponentError(f"model: {model!r} is a {type(network).__name__}, expected a BERT-like encoder")
    if num_layers > len(layers):
        raise ComponentError(
            f"num_layers: got {num_layers}, expected at most the {len(layers)} layers of model {model!r}"
        )
    del layers[num_layers:]
    # Some tokenizers declare no maximum. bert-score then uses 10^30 tokens, which overflows.
    tokenizer.model_max_length = min(tokenizer.model_max_length, network.config.max_position_embeddings)
    device = torch_device(device)
    return _Encoder(network.eval().to(device), tokenizer, device)
