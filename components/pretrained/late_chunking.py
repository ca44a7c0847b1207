"""Vectors of chunks from token outputs of whole documents: late chunking.

A model reads a document once, so that each token's output depends on the whole document. The vector of a chunk is the
mean over its tokens. Source: Günther et al. 2024, "Late Chunking: Contextual Chunk Embeddings Using Long-Context
Embedding Models", algorithms 1 and 2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.pretrained.batches import batch_by_length, prepare_ahead
from components.pretrained.features import default_batch_tokens, explain_out_of_memory, on_device
from components.pretrained.sentence_encoder import SentenceEncoder, load_encoder, pooling_place
from components.records import Spans

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

_GROUP_CHARACTERS = 2**20
"""Characters of documents that are tokenized per call."""


class _Window(NamedTuple):
    """Tokens of a document that the model reads together: `ids` int64, without prefix and special tokens.

    `start` and `end` are the character offsets of its tokens, int64. A token that an earlier window covers has an
    empty span, like a token without characters.
    """

    document: int
    ids: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True)
class LateChunking:
    """An encoder and how it reads documents.

    `prefix` precedes each window. A document that is longer than the model reads is read in windows. Each repeats
    `overlap` of the previous one, in [0, 1), as context only: a repeated token keeps its output from the earlier
    window.
    """

    encoder: SentenceEncoder
    prefix: str
    overlap: float

    def embed(
        self, documents: Sequence[str], chunks: Spans, batch_tokens: int | None, device: str
    ) -> NDArray[np.float32]:
        """Return float32[n_chunks, d] without scaling. A chunk without a token is zero.

        A token belongs to each chunk with which it shares a character. Raises ComponentError if the model cannot be
        loaded, gives no token outputs or no token offsets, if a batch does not fit into memory, or if a vector is
        not finite.
        """
        model = load_encoder(self.encoder.model, self.encoder.revision, self.encoder, device)
        reader = _WindowReader(model, self.encoder.model, self.prefix, self.overlap)
        batch_tokens = batch_tokens or default_batch_tokens(model.device.type)
        sums, n_tokens = np.zeros((0, 0), dtype=np.float32), np.zeros(len(chunks), dtype=np.int64)
        used = np.unique(chunks.document)
        bounds = np.searchsorted(chunks.document, used), np.searchsorted(chunks.document, used, side="right")
        rows_of = {int(document): slice(*rows) for document, *rows in zip(used, *bounds, strict=True)}
        groups = batch_by_length([len(documents[document]) for document in used.tolist()], _GROUP_CHARACTERS)
        for _, windows in prepare_ahead(lambda group: reader.windows(documents, used[group].tolist()), groups):
            for positions in batch_by_length([len(window.ids) for window in windows], batch_tokens):
                batch = [windows[position] for position in positions.tolist()]
                with explain_out_of_memory(batch_tokens, model.device):
                    outputs = reader.outputs([window.ids for window in batch])
                    for window, output in zip(batch, outputs, strict=True):
                        rows = rows_of[window.document]
                        member = _mark_chunk_tokens(window, chunks.start[rows], chunks.end[rows])
                        chunk_sums = _sum_vectors(member, output)
                        if not sums.size:
                            sums = np.zeros((len(chunks), chunk_sums.shape[1]), dtype=np.float32)
                        sums[rows] += chunk_sums
                        n_tokens[rows] += member.sum(axis=1)
        if not sums.size:
            return np.zeros((len(chunks), model.get_embedding_dimension() or 0), dtype=np.float32)
        return self._finish(reader, sums, n_tokens)

    def _finish(
        self, reader: "_WindowReader", sums: NDArray[np.float32], n_tokens: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        means = sums / np.maximum(n_tokens, 1).astype(np.float32)[:, None]
        vectors = reader.apply_later_modules(means)
        vectors[n_tokens == 0] = 0
        if not np.isfinite(vectors).all():
            raise ComponentError(
                f"model {self.encoder.model!r}: got NaN or infinite vectors with dtype={self.encoder.dtype}. "
                "float16 overflows in some models. Use bfloat16 or float32."
            )
        return vectors


def _mark_chunk_tokens(window: _Window, start: NDArray[np.integer], end: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return bool[n_chunks, n_tokens]: the tokens of each chunk, that is, those that share a character with it."""
    shared = np.minimum(window.end, end[:, None]) > np.maximum(window.start, start[:, None])
    return np.asarray(shared)


def _sum_vectors(member: NDArray[np.bool_], output: "torch.Tensor") -> NDArray[np.float32]:
    import torch

    with torch.inference_mode():
        sums: NDArray[np.float32] = (torch.from_numpy(member).to(output) @ output).cpu().numpy()
    return sums


class _WindowReader:
    """A loaded model, its tokenizer, and the tokens around each window."""

    def __init__(self, model: "SentenceTransformer", name: str, prefix: str, overlap: float) -> None:
        self._model, self._tokenizer = model, model.tokenizer
        pooling = pooling_place(model)
        if pooling is None or not getattr(self._tokenizer, "is_fast", False):
            raise ComponentError(
                f"pooling: got late, but model {name!r} has "
                f"{'a slow tokenizer' if pooling else 'a custom pooling'}, expected a transformer with a single "
                "pooling and a fast tokenizer, which knows the character offsets of tokens"
            )
        self._pooling = pooling
        self._before, self._after = self._surroundings(prefix)
        self._n_read = int(model.max_seq_length) - len(self._before) - len(self._after)
        self._step = self._n_read - int(self._n_read * overlap)
        if self._n_read < 1:
            raise ComponentError(
                f"model {name!r} reads {model.max_seq_length} tokens, and the prefix and special tokens take all "
                "of them. Raise max_length, or shorten passage_prefix."
            )

    def _surroundings(self, prefix: str) -> tuple[list[int], list[int]]:
        """Return the special tokens and the prefix before a text, and the special tokens after it."""
        whole = self._tokenizer("a", return_special_tokens_mask=True)
        ids, is_special = whole["input_ids"], whole["special_tokens_mask"]
        plain = [position for position, special in enumerate(is_special) if not special]
        prefix_ids = self._tokenizer(prefix, add_special_tokens=False)["input_ids"] if prefix else []
        return [*ids[: plain[0]], *prefix_ids], ids[plain[-1] + 1 :]

    def windows(self, documents: Sequence[str], chosen: Sequence[int]) -> list[_Window]:
        """Return the windows of these documents."""
        texts = [documents[document] for document in chosen]
        encoded = self._tokenizer(
            texts,
            add_special_tokens=False,
            truncation=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            return_offsets_mapping=True,
            verbose=False,
        )
        return [
            window
            for document, ids, offsets in zip(chosen, encoded["input_ids"], encoded["offset_mapping"], strict=True)
            for window in self._cut(document, ids, offsets)
        ]

    def _cut(self, document: int, ids: list[int], places: list[tuple[int, int]]) -> Iterator[_Window]:
        all_ids = np.array(ids, dtype=np.int64)
        start, end = np.array(places, dtype=np.int64).reshape(-1, 2).T
        done = 0
        for first in range(0, len(ids), self._step):
            last = min(first + self._n_read, len(ids))
            is_new = np.arange(first, last) >= done
            yield _Window(document, all_ids[first:last], start[first:last], np.where(is_new, end[first:last], -1))
            done = last
            if last == len(ids):
                return

    def outputs(self, windows: Sequence[NDArray[np.int64]]) -> "list[torch.Tensor]":
        """Return the outputs for the tokens of each window, float32[n_tokens, d] on the model's device."""
        import torch

        rows = [[*self._before, *ids.tolist(), *self._after] for ids in windows]
        longest = max(map(len, rows))
        pad = self._tokenizer.pad_token_id or 0
        features: dict[str, Any] = {
            "input_ids": torch.tensor([row + [pad] * (longest - len(row)) for row in rows]),
            "attention_mask": torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows]),
            "modality": "text",
        }
        with torch.inference_mode():
            features = on_device(features, self._model.device)
            for module in list(self._model)[: self._pooling]:
                features = module(features)
            outputs = features["token_embeddings"].float()
        first = len(self._before)
        return [output[first : first + len(ids)] for output, ids in zip(outputs, windows, strict=True)]

    def apply_later_modules(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vectors after the modules that follow the pooling, such as a projection."""
        import torch

        dtype = next((weights.dtype for weights in self._model.parameters()), torch.float32)
        modules = list(self._model)[self._pooling + 1 :]
        if not modules:
            return vectors
        with torch.inference_mode():
            features = {"sentence_embedding": torch.from_numpy(vectors).to(device=self._model.device, dtype=dtype)}
            for module in modules:
                features = module(features)
            projected: NDArray[np.float32] = features["sentence_embedding"].float().cpu().numpy()
        return projected
