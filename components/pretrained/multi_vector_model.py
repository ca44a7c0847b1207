"""Encoders of token vectors of the package sentence-transformers, run on batches of equal cost.

The package batches by number of texts, and the model waits while the next batch is tokenized. Here a batch has a number
of tokens, and tokenization runs in parallel with the model. The package's tokenizer, expansion of queries, mask and
modules compute the result for each text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
    on_device,
    preprocess,
    split_into_batches,
)
from components.pretrained.load_once import load_once
from components.pretrained.model_files import sentence_transformers_options
from components.pretrained.model_folder import explain_load_errors, missing_package_errors, torch_device
from components.pretrained.multi_vector_files import Lengths, require_token_vectors, side_lengths
from components.pretrained.sentence_encoder import PACKAGES, Side

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

_WINDOW_CHARACTERS = 2**20
"""Characters tokenized per call, including padding."""


@dataclass(frozen=True)
class MultiVectorModel:
    """A model and how it tokenizes texts. `max_length` is in tokens of a document, `max_query_length` in tokens of a
    query, including special tokens; None for the lengths in the model's files.
    """

    model: str
    revision: str
    dtype: Dtype = Dtype.FLOAT32
    max_length: int | None = None
    max_query_length: int | None = None
    trust_remote_code: bool = False

    def lengths(self, side: Side) -> Lengths:
        """Return the numbers of tokens of a side. Raises ComponentError if the model cannot be reached."""
        max_length = self.max_query_length if side is Side.QUERY else self.max_length
        return side_lengths(self.model, self.revision, side, max_length)

    def encode(
        self, texts: Sequence[str], side: Side, prompt: str, batch_tokens: int | None, device: str
    ) -> list[NDArray[np.float16]]:
        """Return float16[n_tokens, d] for each text, of unit length. `prompt` precedes every text.

        Raises ComponentError if the model cannot be loaded, if a batch does not fit into memory, or if a vector is not
        finite.
        """
        encoder = _load(self.model, self.revision, self, device)
        batch_tokens = batch_tokens or default_batch_tokens(encoder.device.type)

        def tokenize(rows: NDArray[np.int64]) -> Features:
            return preprocess(encoder, [texts[row] for row in rows.tolist()], prompt=prompt, task=side.value)

        vectors_by_row: dict[int, NDArray[np.float16]] = {}
        windows = batch_by_length([len(text) for text in texts], _WINDOW_CHARACTERS)
        for window, features in prepare_ahead(tokenize, windows):
            for rows, batch in split_into_batches(features, batch_tokens):
                with explain_out_of_memory(batch_tokens, encoder.device):
                    batch_vectors = self._encode(encoder, batch, side)
                vectors_by_row.update(zip(window[rows].tolist(), batch_vectors, strict=True))
        return [vectors_by_row[row] for row in range(len(texts))]

    def n_dimensions(self, device: str) -> int:
        """Return the length of the vectors. Raises ComponentError if the model cannot be loaded."""
        return _load(self.model, self.revision, self, device).get_embedding_dimension() or 0

    def _encode(self, encoder: "MultiVectorEncoder", batch: Features, side: Side) -> list[NDArray[np.float16]]:
        import torch

        with torch.inference_mode():
            output = encoder(on_device(batch, encoder.device), task=side.value)
            mask = output["attention_mask"].bool()
            scaled = torch.nn.functional.normalize(output["token_embeddings"][mask].float(), dim=-1)
            vectors: NDArray[np.float16] = scaled.half().cpu().numpy()
        if not np.isfinite(vectors).all():
            raise ComponentError(
                f"model {self.model!r}: got NaN or infinite token vectors with dtype={self.dtype}. "
                "float16 overflows in some models. Use bfloat16 or float32."
            )
        return np.split(vectors, np.cumsum(mask.sum(dim=1).cpu().numpy())[:-1])


@load_once
def _load(model: str, revision: str, settings: MultiVectorModel, device: str) -> "MultiVectorEncoder":
    if missing := missing_package_errors(PACKAGES, "token vectors"):
        raise missing[0]
    require_token_vectors(model, revision)
    import torch
    from sentence_transformers import MultiVectorEncoder

    on = torch_device(device)
    with explain_load_errors(model, revision, trusted=settings.trust_remote_code) as name:
        encoder = MultiVectorEncoder(
            name,
            device="cpu",
            revision=revision or None,
            trust_remote_code=settings.trust_remote_code,
            model_kwargs=sentence_transformers_options(model, revision),
        )
    query_lengths, document_lengths = settings.lengths(Side.QUERY), settings.lengths(Side.PASSAGE)
    for module in encoder.modules():
        _set_lengths(module, query_lengths, document_lengths)
    return encoder.to(device=on, dtype=getattr(torch, settings.dtype.value)).eval()


def _set_lengths(module: Any, query_lengths: Lengths, document_lengths: Lengths) -> None:
    """Have a module read these numbers of tokens. Other modules read no text."""
    from sentence_transformers.base.modules import Transformer

    if not isinstance(module, Transformer):
        return
    module.document_length = document_lengths.limit
    module.query_length = None  # may not be below the length that the next line replaces
    if module.query_expansion is not None and query_lengths.expanded_to is not None:
        module.query_expansion = {**module.query_expansion, "length": query_lengths.expanded_to}
    module.query_length = None if query_lengths.is_fixed else query_lengths.limit
