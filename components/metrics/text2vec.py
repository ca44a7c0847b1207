"""The similarity that CRUD-RAG's code logs as "bertScore": the cosine of one sentence vector per text."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import runtime_only
from components.means import combine_mean
from components.metrics.text_pairs import Pair, best_text_over_references
from components.pretrained.load_once import load_once
from components.pretrained.model_files import sentence_transformers_options
from components.pretrained.model_folder import (
    explain_load_errors,
    hash_folder,
    missing_package_errors,
    model_problems,
    torch_device,
)
from components.protocols import TextForm
from components.records import Sample, Scores, TextsWithUnits

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_MAX_TOKENS = 256
"""Maximum number of tokens that the package text2vec reads; the folder of text2vec-base-chinese says 128."""

_PACKAGES = ("sentence_transformers", "torch", "transformers")
_NAME = "text2vec_similarity_crud_compat"


@dataclass(frozen=True)
class Text2VecSimilarity:
    """Cosine of the sentence vectors of answer and reference; the best over the references (CRUD-RAG has one each).

    Level: sample. Range: [-1, 1], no unit, larger is better. Tokenizer: the model's, which reads only the first 256
    tokens of a text (including [CLS] and [SEP]), after stripping whitespace. Pooling: as the model's folder defines
    it, for text2vec-base-chinese the mean over tokens. Empty answer: 0, as in text2vec's Similarity. It counts here,
    while CRUD-RAG drops the sample from its mean. Blank references are left out; a sample that has no other reference
    is NOT_APPLICABLE.
    Source: text2vec, `Similarity.get_score`, as called by CRUD-RAG's `src/metric/common.py` under the name bert_score.

    `model` is an id on the Hugging Face hub with its commit as `revision`, or a local folder with revision "". No code
    from the model's folder is run.
    """

    model: str
    revision: str
    batch_size: int = runtime_only(64, "texts are padded differently: changes rounding, about 1e-7")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    larger_is_better: ClassVar[bool | None] = True
    is_share: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The only name: ("text2vec_similarity_crud_compat",)."""
        return (_NAME,)

    @property
    def form(self) -> TextForm | None:
        """None: the model reads whole texts."""
        return None

    def check(self) -> list[str]:
        """Return an error message for missing packages, an invalid model, or a batch size below 1."""
        problems = [str(error) for error in missing_package_errors(_PACKAGES, f"the metric {_NAME}")]
        problems += model_problems(self.model, self.revision)
        if self.batch_size < 1:
            problems.append(f"batch_size: got {self.batch_size}, expected at least 1")
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, or "" for an id of the hub, whose revision identifies its
        content.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def score_answers(
        self, samples: Sequence[Sample], answers: TextsWithUnits, references: TextsWithUnits
    ) -> dict[str, Scores]:
        """Return the cosine of each answer. Raises ComponentError if the model cannot be loaded."""
        return {_NAME: best_text_over_references(samples, answers, references, self._cosines)}

    def combine(self, name: str, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means, float64[...], of sums float64[..., 2]."""
        return combine_mean(sums)

    def _cosines(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        texts = list(dict.fromkeys(text.strip() for text in chain.from_iterable(pairs)))
        encoder = _load(self.model, self.revision, self.device)
        vectors = encoder.encode(texts, batch_size=self.batch_size, show_progress_bar=False).astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        row = {text: number for number, text in enumerate(texts)}
        rows = np.array([[row[answer.strip()], row[reference.strip()]] for answer, reference in pairs])
        cosines: NDArray[np.float64] = np.einsum("ij,ij->i", vectors[rows[:, 0]], vectors[rows[:, 1]])
        return cosines.clip(-1.0, 1.0)  # rounding can exceed 1 for identical texts


@load_once
def _load(model: str, revision: str, device: str) -> "SentenceTransformer":
    """Load the model once per process."""
    if missing := missing_package_errors(_PACKAGES, f"the metric {_NAME}"):
        raise missing[0]
    from sentence_transformers import SentenceTransformer

    with explain_load_errors(model, revision) as name:
        encoder = SentenceTransformer(
            name,
            device="cpu",
            revision=revision or None,
            trust_remote_code=False,
            model_kwargs=sentence_transformers_options(model, revision),
        )
    encoder.max_seq_length = _MAX_TOKENS
    return encoder.to(torch_device(device))
