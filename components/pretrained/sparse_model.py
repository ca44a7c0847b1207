"""Sparse encoders of the package sentence-transformers, run on batches of equal cost.

The package makes a sparse tensor of each text, and batches by number of texts. Here a batch has a number of tokens,
tokenization runs in parallel with the model, and weights are collected batch by batch: a text's row of the whole
vocabulary exists only within its batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.pretrained.batches import batch_by_length, prepare_ahead
from components.pretrained.dtype import Dtype
from components.pretrained.features import (
    Features,
    default_batch_tokens,
    explain_out_of_memory,
    max_input_tokens,
    on_device,
    preprocess,
    split_into_batches,
)
from components.pretrained.load_once import load_once
from components.pretrained.model_files import sentence_transformers_options
from components.pretrained.model_folder import explain_load_errors, missing_package_errors, torch_device
from components.pretrained.sentence_encoder import PACKAGES, Side

if TYPE_CHECKING:
    from sentence_transformers import SparseEncoder

Weights = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Ids of a text's tokens, increasing, and their weights."""

_WINDOW_CHARACTERS = 2**20
"""Characters tokenized per call, including padding."""

_MAX_LOGITS = {"cpu": 2**26, "gpu": 2**29}
"""Maximum number of logits in a batch by the type of device: each token has one per token of the vocabulary."""


@dataclass(frozen=True)
class SparseModel:
    """A model and how it tokenizes texts. `max_length` is in tokens, including special tokens; None for the model's own
    limit. A text keeps its `max_weights` largest weights; None for the number in the model's files.
    """

    model: str
    revision: str
    dtype: Dtype = Dtype.FLOAT32
    max_length: int | None = None
    max_weights: int | None = None
    trust_remote_code: bool = False

    def encode(
        self, texts: Sequence[str], side: Side, prompt: str, batch_tokens: int | None, device: str
    ) -> list[Weights]:
        """Return the weights of each text. `prompt` precedes every text.

        Raises ComponentError if the model cannot be loaded, if a batch does not fit into memory, or if a weight is
        negative or not finite.
        """
        encoder = _load(self.model, self.revision, replace(self, max_weights=None), device)
        batch_tokens = batch_tokens or _suitable_batch_tokens(encoder)

        def tokenize(rows: NDArray[np.int64]) -> Features:
            return preprocess(encoder, [texts[row] for row in rows.tolist()], prompt=prompt, task=side.value)

        weights_by_row: dict[int, Weights] = {}
        windows = batch_by_length([len(text) for text in texts], _WINDOW_CHARACTERS)
        for window, features in prepare_ahead(tokenize, windows):
            for rows, batch in split_into_batches(features, batch_tokens):
                with explain_out_of_memory(batch_tokens, encoder.device):
                    batch_weights = self._weigh(encoder, batch, side)
                weights_by_row.update(zip(window[rows].tolist(), batch_weights, strict=True))
        return [weights_by_row[row] for row in range(len(texts))]

    def _weigh(self, encoder: "SparseEncoder", batch: Features, side: Side) -> Iterator[Weights]:
        import torch
        from sentence_transformers.util import select_max_active_dims

        max_weights = self.max_weights or encoder.max_active_dims
        with torch.inference_mode():
            weights = encoder(on_device(batch, encoder.device), task=side.value)["sentence_embedding"]
            if max_weights is not None:
                weights = select_max_active_dims(weights, max_active_dims=max_weights)
            row, ids = weights.nonzero(as_tuple=True)
            values = weights[row, ids].float().cpu().numpy()
        if not (values >= 0).all():  # false for NaN, too
            raise ComponentError(
                f"model {self.model!r}: got negative or NaN token weights with dtype={self.dtype}. "
                "float16 overflows in some models. Use bfloat16 or float32."
            )
        ends = np.cumsum(np.bincount(row.cpu().numpy(), minlength=len(weights)))[:-1]
        return zip(np.split(ids.cpu().numpy().astype(np.int32), ends), np.split(values, ends), strict=True)


def _suitable_batch_tokens(encoder: "SparseEncoder") -> int:
    kind = encoder.device.type
    n_ids = encoder.get_embedding_dimension() or 1
    return max(1, min(default_batch_tokens(kind), _MAX_LOGITS["cpu" if kind == "cpu" else "gpu"] // n_ids))


@load_once
def _load(model: str, revision: str, settings: SparseModel, device: str) -> "SparseEncoder":
    if missing := missing_package_errors(PACKAGES, "learned sparse vectors"):
        raise missing[0]
    import torch
    from sentence_transformers import SparseEncoder

    on = torch_device(device)
    with explain_load_errors(model, revision, trusted=settings.trust_remote_code) as name:
        encoder = SparseEncoder(
            name,
            device="cpu",
            revision=revision or None,
            trust_remote_code=settings.trust_remote_code,
            model_kwargs=sentence_transformers_options(model, revision),
        )
    for module in encoder.modules():
        _set_limit(module, settings.max_length)
    return encoder.to(device=on, dtype=getattr(torch, settings.dtype.value)).eval()


def _set_limit(module: Any, max_length: int | None) -> None:
    """Have a module read `max_length` tokens, but at most its own limit. Other modules read no text."""
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    if isinstance(module, Transformer):
        readable = max_input_tokens(module.model, module.tokenizer)
        module.max_seq_length = min(max_length or readable, readable)
    elif isinstance(module, SparseStaticEmbedding) and max_length:
        module.tokenizer.model_max_length = min(max_length, module.tokenizer.model_max_length)
