"""Encoders of the package sentence-transformers, run on batches of equal cost.

The package batches by number of texts, and the model waits while the next batch is tokenized. Here a batch has a number
of tokens, and tokenization runs in parallel with the model. The package's tokenizer, prompts and modules compute the
result for each text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.pretrained.batches import batch_by_length, prepare_ahead
from components.pretrained.dtype import Dtype
from components.pretrained.features import Features, compute_batches, default_batch_tokens, max_input_tokens, preprocess
from components.pretrained.load_once import load_once
from components.pretrained.model_files import sentence_transformers_options
from components.pretrained.model_folder import explain_load_errors, missing_package_errors, torch_device
from components.pretrained.token_limit import model_json

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

PACKAGES = ("sentence_transformers", "torch", "transformers")

_WINDOW_CHARACTERS = 2**20
"""Characters tokenized per call, including padding: a few dozen megabytes of tokens."""


class Pooling(StrEnum):
    """The way in which the token vectors of a text become one vector. MODEL is the pooling of the model's folder, by
    default the mean. LATE is the mean over a chunk's tokens, read in their document; elsewhere it is the mean.
    """

    MODEL = "model"
    CLS = "cls"
    MEAN = "mean"
    MAX = "max"
    LAST = "lasttoken"
    WEIGHTED_MEAN = "weightedmean"
    LATE = "late"


class Side(StrEnum):
    """The role of a text in retrieval, as the package names it."""

    QUERY = "query"
    PASSAGE = "document"


_PROMPT_NAMES = {Side.QUERY: ("query",), Side.PASSAGE: ("document", "passage", "corpus")}


def side_prefix(model: str, revision: str, side: Side, override: str | None) -> str:
    """Return the prefix of all texts of a side: `override`, or for None the prefix in the model's folder, or "" if
    it has no prefix.

    Raises ComponentError if the model cannot be reached.
    """
    if override is not None:
        return override
    prompts = model_json(model, revision, "config_sentence_transformers.json").get("prompts") or {}
    return next((prompt for name in _PROMPT_NAMES[side] if (prompt := prompts.get(name))), "")


@dataclass(frozen=True)
class SentenceEncoder:
    """A model and how it tokenizes texts. `max_length` is in tokens, including special tokens; None for the model's own
    limit.
    """

    model: str
    revision: str
    dtype: Dtype = Dtype.FLOAT32
    pooling: Pooling = Pooling.MODEL
    max_length: int | None = None
    trust_remote_code: bool = False

    def encode(
        self, texts: Sequence[str], side: Side, prompt: str, batch_tokens: int | None, device: str
    ) -> NDArray[np.float32]:
        """Return float32[n_texts, d] without scaling. `prompt` precedes every text.

        A batch has at most `batch_tokens` tokens including padding, or a single longer text; None chooses a size for
        the device. Raises ComponentError if the model cannot be loaded, if a batch does not fit into memory, or if a
        vector is not finite.
        """
        encoder = load_encoder(self.model, self.revision, self, device)
        batch_tokens = batch_tokens or default_batch_tokens(encoder.device.type)

        def tokenize(rows: NDArray[np.int64]) -> Features:
            return preprocess(encoder, [texts[row] for row in rows.tolist()], prompt=prompt, task=side.value)

        def embed(batch: Features) -> "torch.Tensor":
            embedding: torch.Tensor = encoder(batch, task=side.value)["sentence_embedding"]
            return embedding

        vectors = np.zeros((len(texts), encoder.get_embedding_dimension() or 0), dtype=np.float32)
        windows = batch_by_length([len(text) for text in texts], _WINDOW_CHARACTERS)
        for rows, features in prepare_ahead(tokenize, windows):
            vectors[rows] = compute_batches(features, len(rows), batch_tokens, encoder, embed)
        if not np.isfinite(vectors).all():
            raise ComponentError(
                f"model {self.model!r}: got NaN or infinite numbers in "
                f"{int((~np.isfinite(vectors)).any(axis=1).sum())} of {len(texts)} vectors with dtype={self.dtype}. "
                "float16 overflows in some models. Use bfloat16 or float32."
            )
        return vectors


@load_once
def load_encoder(model: str, revision: str, settings: SentenceEncoder, device: str) -> "SentenceTransformer":
    """Load the model of `settings` with its pooling, once per process.

    Raises ComponentError if a package is missing or the model cannot be loaded.
    """
    if missing := missing_package_errors(PACKAGES, "a sentence encoder"):
        raise missing[0]
    import torch
    from sentence_transformers import SentenceTransformer

    on_device = torch_device(device)
    with explain_load_errors(model, revision, trusted=settings.trust_remote_code) as name:
        encoder = SentenceTransformer(
            name,
            device="cpu",
            revision=revision or None,
            trust_remote_code=settings.trust_remote_code,
            model_kwargs=sentence_transformers_options(model, revision),
        )
    if encoder.transformers_model is not None:  # static embeddings have no limit
        readable = max_input_tokens(encoder.transformers_model, encoder.tokenizer)
        encoder.max_seq_length = min(settings.max_length or readable, readable)
    if settings.pooling is not Pooling.MODEL:
        _set_pooling(encoder, settings)
    return encoder.to(device=on_device, dtype=getattr(torch, settings.dtype.value)).eval()


def pooling_place(encoder: "SentenceTransformer") -> int | None:
    """Return the position of the pooling among the modules, or None unless exactly one is a pooling."""
    from sentence_transformers.sentence_transformer.modules import Pooling as PoolingModule

    indices = [index for index, module in enumerate(encoder) if isinstance(module, PoolingModule)]
    return indices[0] if len(indices) == 1 else None


def _set_pooling(encoder: "SentenceTransformer", settings: SentenceEncoder) -> None:
    from sentence_transformers.sentence_transformer.modules import Pooling as PoolingModule

    index = pooling_place(encoder)
    if index is None:
        raise ComponentError(
            f"pooling: got {settings.pooling}, but model {settings.model!r} has a custom pooling, expected "
            "pooling=model"
        )
    module = encoder[index]
    pooling = Pooling.MEAN if settings.pooling is Pooling.LATE else settings.pooling
    encoder[index] = PoolingModule(module.embedding_dimension, pooling.value, include_prompt=module.include_prompt)
