"""Cross-encoders: pretrained models that read query and chunk together and return one score."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.fields import code_metadata, runtime_only
from components.limits import too_small
from components.pretrained.batches import batch_by_length, prepare_ahead
from components.pretrained.dtype import Dtype
from components.pretrained.features import Features, compute_batches, default_batch_tokens, preprocess
from components.pretrained.load_once import load_once
from components.pretrained.model_files import sentence_transformers_options
from components.pretrained.model_folder import (
    checkpoint_problems,
    explain_load_errors,
    hash_folder,
    missing_package_errors,
    torch_device,
)
from components.pretrained.token_limit import model_json
from components.records import Passages
from components.rerankers.heads import require_one_score, require_torch_activation
from components.rerankers.query_chunk_pairs import (
    MIN_TOKENS,
    TextPair,
    count_chunks,
    count_queries,
    distinct_pairs,
    pair_limit,
)

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder

_PACKAGES = ("sentence_transformers", "torch", "transformers")
_NEEDED_BY = "reranker=cross_encoder"
_WINDOW_CHARACTERS = 2**20
"""Characters of pairs tokenized per call, including padding: a few dozen megabytes of tokens."""


class Activation(StrEnum):
    """The activation of a model's output: none, a sigmoid, or the activation in the model's folder."""

    NONE = "none"
    SIGMOID = "sigmoid"
    MODEL = "model"


@dataclass(frozen=True)
class PretrainedCrossEncoder:
    """A model that CrossEncoder of sentence-transformers supports.

    It is a sequence classifier with one label, or a causal model that answers yes or no. It scores `depth` hits per
    query. `model` is a hub id with its commit as `revision`, or a local folder with revision "". Code from the model's
    folder runs only with `trust_remote_code`.

    Query and chunk together are cut to `max_length` tokens, or to the model's limit if it is smaller; the longer of the
    two is cut first. `activation` is by default `none`: a sigmoid gives the same order until it saturates at large
    numbers. `prompt` precedes the query, or is the instruction of a model with a chat template; None stands for the
    prompt in the model's folder.

    Equal pairs of texts are scored once. A batch has `batch_tokens` tokens of pairs of similar length including
    padding, or a single pair; None chooses a size for the device.
    """

    model: str
    revision: str = ""
    depth: int = 100
    max_length: int = 512
    activation: Activation = Activation.NONE
    prompt: str | None = None
    dtype: Dtype = Dtype.FLOAT32
    trust_remote_code: bool = field(default=False, metadata=code_metadata("the code in its model's folder"))
    batch_tokens: int | None = runtime_only(None, "pairs are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None
    n_pairs_per_block: ClassVar[int] = 4096

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model, and numbers that are too small."""
        problems = checkpoint_problems(self.model, self.revision, _PACKAGES, _NEEDED_BY)
        return problems + too_small(self, depth=1, max_length=MIN_TOKENS, batch_tokens=1)

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of a local folder, "" for a hub id, which its revision pins.

        Raises ComponentError if the folder does not exist.
        """
        return hash_folder(self.model)

    def token_limit(self) -> int:
        """Return the maximum number of tokens of query and chunk together. Raises ComponentError if the model cannot be
        reached.
        """
        return pair_limit(self.model, self.revision, self.max_length)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], including prompt and special tokens of a pair, but not the tokens of a template."""
        return count_queries(self.model, self.revision, [self._prompt() + text for text in texts])

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return int64[n_texts], without special tokens."""
        return count_chunks(self.model, self.revision, texts)

    def score(self, queries: Passages, chunks: Passages, pairs: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[n_pairs]. Raises ComponentError if the model cannot be loaded or has not exactly one score."""
        if not len(pairs):
            return np.zeros(0, dtype=np.float32)
        texts, row = distinct_pairs(queries, chunks, pairs)
        uses_model_activation = self.activation is Activation.MODEL
        if uses_model_activation and not self.trust_remote_code:
            require_torch_activation(self.model, self.revision)
        limit, trusted = self.token_limit(), self.trust_remote_code
        encoder = _load(self.model, self.revision, self.dtype, limit, trusted, uses_model_activation, self.device)
        return self._scores(encoder, texts)[row]

    def _prompt(self) -> str:
        """Return the prefix of queries for a model without a chat template."""
        if self.prompt is not None:
            return self.prompt
        settings = model_json(self.model, self.revision, "config_sentence_transformers.json")
        return (settings.get("prompts") or {}).get(settings.get("default_prompt_name")) or ""

    def _scores(self, encoder: "CrossEncoder", texts: Sequence[TextPair]) -> NDArray[np.float32]:
        """Score one window after another; the next window is tokenized while the model computes."""
        from torch import nn

        activations = {
            Activation.NONE: nn.Identity(),
            Activation.SIGMOID: nn.Sigmoid(),
            Activation.MODEL: encoder.activation_fn,
        }
        activation = activations[self.activation]
        assert activation is not None, "sentence-transformers sets one when it loads a model"
        n_characters = [len(query) + len(chunk) for query, chunk in texts]
        windows = batch_by_length(n_characters, _WINDOW_CHARACTERS)
        scores = np.empty(len(texts), dtype=np.float32)
        batch_tokens = self.batch_tokens or default_batch_tokens(encoder.device.type)

        def tokenize(rows: NDArray[np.int64]) -> Features:
            return preprocess(encoder, [texts[row] for row in rows.tolist()], prompt=self.prompt)

        def score(batch: Features) -> "torch.Tensor":
            relevance: torch.Tensor = activation(encoder(batch)["scores"].float())[:, 0]
            return relevance

        for rows, features in prepare_ahead(tokenize, windows):
            scores[rows] = compute_batches(features, len(rows), batch_tokens, encoder, score)
        return scores


@load_once
def _load(
    model: str, revision: str, dtype: Dtype, max_length: int, trust_remote_code: bool, own_activation: bool, device: str
) -> "CrossEncoder":
    """Load the model, once per process. With `own_activation`, its files may name the activation function.

    Raises ComponentError if a package is missing, or if the model cannot be loaded or has several scores.
    """
    if missing := missing_package_errors(_PACKAGES, _NEEDED_BY):
        raise missing[0]
    import torch
    from sentence_transformers import CrossEncoder

    with explain_load_errors(model, revision, trusted=trust_remote_code) as name:
        encoder = CrossEncoder(
            name,
            device="cpu",
            revision=revision or None,
            trust_remote_code=trust_remote_code,
            model_kwargs={**sentence_transformers_options(model, revision), "dtype": getattr(torch, dtype)},
            activation_fn=None if own_activation else torch.nn.Identity(),
        )
        require_one_score(model, encoder.transformers_model, encoder.num_labels)
    encoder.max_seq_length = max_length
    on_device: CrossEncoder = encoder.to(torch_device(device)).eval()
    return on_device
