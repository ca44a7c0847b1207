"""BGE-M3 with its three heads: one vector per text, a weight per token and a vector per token, in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.encodings import Encodings
from components.errors import ComponentError
from components.fields import runtime_only
from components.pretrained.batches import length_batches, prepared_ahead
from components.pretrained.dtype import Dtype
from components.pretrained.features import (
    Features,
    feature_batches,
    fitting_into_memory,
    on_device,
    readable_tokens,
    suitable_batch_tokens,
)
from components.pretrained.load_once import load_once
from components.pretrained.model_files import has_safetensors
from components.pretrained.model_folder import (
    folder_hash,
    loading,
    local_folder,
    missing_packages,
    model_mistakes,
    torch_device,
)
from components.pretrained.token_limit import count_tokens, token_limit
from components.protocols import EmbedderState
from components.records import Passages

_PACKAGES = ("torch", "transformers")
_NEEDED_BY = "the embedder bge-m3-heads"

_WINDOW_CHARACTERS = 2**18
"""So many are tokenized at once, padding included."""


@dataclass(frozen=True)
class BgeM3:
    """The three representations of Chen et al. 2024, "M3-Embedding", as FlagEmbedding's BGEM3FlagModel computes them:
    `dense_vecs`, `lexical_weights` and `colbert_vecs`, the latter kept as float16. A text is read up to `max_length`
    tokens, special ones included, or as many as the model has positions. Blank texts have none of the three.

    A batch is `batch_tokens` tokens with padding, or one text; None for what suits the device.
    `model` is an id of the Hugging Face hub, `revision` its commit; or a local folder, with revision "", that holds an
    encoder, its tokenizer, and the heads `sparse_linear.pt` and `colbert_linear.pt`, which are read by torch's loader
    of tensors. No code from the folder is run. As an embedder alone it gives the dense vectors.
    """

    model: str
    revision: str = ""
    max_length: int = 8192
    dtype: Dtype = Dtype.FLOAT32
    batch_tokens: int | None = runtime_only(None, "texts are padded differently: changes rounding, about 1e-6")
    device: str = runtime_only("auto", "the same sums on another device: changes rounding, about 1e-6")

    version: ClassVar[int] = 1
    tokenizer: ClassVar[None] = None

    def check(self) -> list[str]:
        """Missing packages, a model that cannot be meant, numbers out of range."""
        mistakes = [str(error) for error in missing_packages(_PACKAGES, _NEEDED_BY)]
        mistakes += model_mistakes(self.model, self.revision)
        if self.max_length < 3:
            mistakes.append(f"max_length: got {self.max_length}, wanted at least 3: two tokens are the model's own")
        if self.batch_tokens is not None and self.batch_tokens < 1:
            mistakes.append(
                f"batch_tokens: got {self.batch_tokens}, wanted at least 1, or null for what suits the device"
            )
        return mistakes

    def content_hash(self) -> str:
        """SHA-256 (hex) of a local folder, "" for an id of the hub, whose revision is its content. Raises
        ComponentError if there is no such folder.
        """
        return folder_hash(self.model)

    def token_limit(self) -> int:
        """`max_length`, or as many as the model's folder says. Raises ComponentError if the model cannot be reached."""
        return min(self.max_length, token_limit(self.model, self.revision) or self.max_length)

    def count_query_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """With special tokens."""
        return count_tokens(self.model, self.revision, texts)

    def count_chunk_tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """With special tokens."""
        return count_tokens(self.model, self.revision, texts)

    @property
    def n_chunks_per_block(self) -> int:
        """A few minutes of work, for the dense vectors alone."""
        return 2048 if torch_device(self.device) == "cpu" else 32_768

    def fit(self, documents: Passages) -> EmbedderState:
        """Nothing to learn: {}."""
        return {}

    def embed_chunks(self, chunks: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """float32[n_chunks, d]: the dense vectors alone. Raises ComponentError as `encode_chunks` does."""
        return self._encoded(chunks.texts, dense_alone=True).dense

    def embed_queries(self, queries: Passages, state: EmbedderState) -> NDArray[np.float32]:
        """Like `embed_chunks`."""
        return self._encoded(queries.texts, dense_alone=True).dense

    def encode_chunks(self, chunks: Passages) -> Encodings:
        """All three, in one pass. Raises ComponentError if the model cannot be loaded, has no heads, makes numbers that
        are not finite, or needs more memory than there is.
        """
        return self._encoded(chunks.texts)

    def encode_queries(self, queries: Passages) -> Encodings:
        """Like `encode_chunks`."""
        return self._encoded(queries.texts)

    def _encoded(self, texts: Sequence[str], *, dense_alone: bool = False) -> Encodings:
        model = _load(self.model, self.revision, self.dtype, self.max_length, self.device)
        batch_tokens = self.batch_tokens or suitable_batch_tokens(model.network.device.type)
        read = [row for row, text in enumerate(texts) if text.strip()]
        windows = length_batches([len(texts[row]) for row in read], _WINDOW_CHARACTERS)
        dense = np.zeros((len(texts), model.n_dimensions), dtype=np.float32)
        heads = dict.fromkeys(range(len(texts)), _NO_TOKENS)

        def tokenized(window: NDArray[np.int64]) -> Features:
            return model.tokenized([texts[read[place]] for place in window.tolist()])

        for window, features in prepared_ahead(tokenized, windows):
            for rows, batch in feature_batches(features, batch_tokens):
                places = [read[place] for place in window[rows].tolist()]
                with fitting_into_memory(batch_tokens, model.network.device):
                    dense[places], tokens = model.forward(batch, dense_alone=dense_alone)
                heads.update(zip(places, tokens, strict=False))  # no tokens for the dense vectors alone
        if not np.isfinite(dense).all():
            raise ComponentError(
                f"model {self.model!r}: vectors are not finite with dtype={self.dtype}; float16 overflows in some "
                "models: try bfloat16 or float32"
            )
        return _joined(dense, list(heads.values()), model.n_token_dimensions)


class _Tokens(NamedTuple):
    """What the heads make of one text's tokens."""

    ids: NDArray[np.int32]
    weights: NDArray[np.float32]
    vectors: NDArray[np.float16] | None


_NO_TOKENS = _Tokens(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32), None)


def _joined(dense: NDArray[np.float32], texts: list[_Tokens], n_token_dimensions: int) -> Encodings:
    vectors = [np.zeros((0, n_token_dimensions), dtype=np.float16) if t.vectors is None else t.vectors for t in texts]
    nothing = np.zeros((0, n_token_dimensions), dtype=np.float16)
    return Encodings(
        dense=dense,
        weight_ids=np.concatenate([_NO_TOKENS.ids, *(text.ids for text in texts)]),
        weights=np.concatenate([_NO_TOKENS.weights, *(text.weights for text in texts)]),
        weight_offsets=np.cumsum([0, *(len(text.ids) for text in texts)], dtype=np.int64),
        vectors=np.concatenate([nothing, *vectors]),
        vector_offsets=np.cumsum([0, *map(len, vectors)], dtype=np.int64),
    )


class _Model(NamedTuple):
    """The encoder, its two heads and its tokenizer."""

    network: Any
    sparse_linear: Any
    colbert_linear: Any
    tokenizer: Any
    max_length: int
    special_ids: NDArray[np.int32]

    @property
    def n_dimensions(self) -> int:
        return int(self.network.config.hidden_size)

    @property
    def n_token_dimensions(self) -> int:
        return int(self.colbert_linear.out_features)

    def tokenized(self, texts: list[str]) -> Features:
        return dict(
            self.tokenizer(texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt")
        )

    def forward(self, batch: Features, *, dense_alone: bool) -> tuple[NDArray[np.float32], list[_Tokens]]:
        """float32[n_texts, d], and the tokens of each text; no tokens with `dense_alone`."""
        import torch
        from torch.nn.functional import normalize

        with torch.inference_mode():
            moved = on_device(batch, self.network.device)
            hidden = self.network(**moved).last_hidden_state
            dense = normalize(hidden[:, 0].float(), dim=-1).cpu().numpy()
            if dense_alone:
                return dense, []
            weights = torch.relu(self.sparse_linear(hidden)).squeeze(-1).float().cpu().numpy()
            # The first token stands for the whole text, and has no vector of its own.
            has_vector = moved["attention_mask"][:, 1:].bool()
            vectors = normalize(self.colbert_linear(hidden[:, 1:][has_vector]).float(), dim=-1)
            all_vectors = vectors.half().cpu().numpy()
        ids = batch["input_ids"].numpy().astype(np.int32)
        ends = np.cumsum(batch["attention_mask"][:, 1:].sum(dim=1).numpy())
        each = np.split(all_vectors, ends[:-1])
        return dense, [
            _Tokens(*_largest(own_ids, own, self.special_ids), own_vectors)
            for own_ids, own, own_vectors in zip(ids, weights, each, strict=True)
        ]


def _largest(
    ids: NDArray[np.int32], weights: NDArray[np.float32], special_ids: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """A token weighs as much as where it weighs most; special tokens (padding among them) weigh nothing."""
    counts = (weights > 0) & ~np.isin(ids, special_ids)
    tokens, place = np.unique(ids[counts], return_inverse=True)
    largest = np.zeros(len(tokens), dtype=np.float32)
    np.maximum.at(largest, place, weights[counts])
    return tokens, largest


@load_once
def _load(model: str, revision: str, dtype: Dtype, max_length: int, device: str) -> _Model:
    """Once per process."""
    if missing := missing_packages(_PACKAGES, _NEEDED_BY):
        raise missing[0]
    import torch
    from transformers import AutoModel, AutoTokenizer

    place = torch_device(device)
    pinned = {"revision": revision or None, "trust_remote_code": False}
    number = getattr(torch, dtype.value)
    with loading(model, revision) as name:
        tokenizer = AutoTokenizer.from_pretrained(name, **pinned)
        network = AutoModel.from_pretrained(
            name, use_safetensors=has_safetensors(model, revision), dtype=number, **pinned
        )
        sparse, colbert = (_head(name, revision, f"{head}_linear.pt") for head in ("sparse", "colbert"))
    special = {tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id}
    return _Model(
        network.to(place).eval(),
        sparse.to(device=place, dtype=number).eval(),
        colbert.to(device=place, dtype=number).eval(),
        tokenizer,
        min(max_length, readable_tokens(network, tokenizer)),
        np.array(sorted(special - {None}), dtype=np.int32),
    )


def _head(name: str, revision: str, file: str) -> Any:
    """A linear layer from a file of its weights."""
    import torch
    from huggingface_hub import hf_hub_download

    folder = local_folder(name)
    path = folder / file if folder else hf_hub_download(name, file, revision=revision)
    weights = torch.load(path, map_location="cpu", weights_only=True)
    n_out, n_in = weights["weight"].shape
    head = torch.nn.Linear(n_in, n_out)
    head.load_state_dict(weights)
    return head
