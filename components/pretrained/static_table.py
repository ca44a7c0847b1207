"""Static embeddings: a table with one vector per token, read with NumPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.pretrained.load_once import load_once
from components.pretrained.model_files import fetch_folder
from components.pretrained.model_folder import open_model_files

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILES = ("*.json", "*.safetensors")
_WINDOW = 4096
"""Texts whose tokens are counted in one step."""


@dataclass(frozen=True, eq=False)
class StaticTable:
    """A table `vectors`, float32[n_tokens, d], indexed by token id. The id `unknown` is left out, None for none."""

    tokenizer: "Tokenizer"
    vectors: NDArray[np.float32]
    unknown: int | None

    def means(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n_texts, d], the mean over the tokens of each text; zero for a text without tokens."""
        means = np.zeros((len(texts), self.vectors.shape[1]), dtype=np.float32)
        for first in range(0, len(texts), _WINDOW):
            means[first : first + _WINDOW] = self._means(texts[first : first + _WINDOW])
        return means

    def _means(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from scipy.sparse import csr_matrix

        split = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        rows = [[token for token in text.ids if token != self.unknown] for text in split]
        n_tokens = np.array([len(row) for row in rows], dtype=np.int64)
        shares = np.repeat(1 / np.maximum(n_tokens, 1), n_tokens).astype(np.float32)
        tokens = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
        offsets = np.concatenate([[0], np.cumsum(n_tokens)])
        means: NDArray[np.float32] = (
            csr_matrix((shares, tokens, offsets), (len(rows), len(self.vectors))) @ self.vectors
        )
        return means


@load_once
def load_static_table(model: str, revision: str) -> StaticTable:
    """Load a table that model2vec or the StaticEmbedding of sentence-transformers saved.

    model2vec saves `embeddings`, optionally with weights and a mapping of tokens to rows, and leaves out unknown
    tokens. sentence-transformers saves `embedding.weight`. Raises ComponentError for files of another form.
    """
    folder = fetch_folder(model, revision, _FILES)
    with open_model_files(model, revision):
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        table_folder = _find_table(folder)
        tokenizer = Tokenizer.from_file(str(table_folder / "tokenizer.json"))
        tensors = load_file(table_folder / "model.safetensors")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if "embedding.weight" in tensors:
        table, unknown = tensors["embedding.weight"].astype(np.float32), None
    elif "embeddings" in tensors:
        table = tensors["embeddings"].astype(np.float32)
        table = table[tensors["mapping"]] if "mapping" in tensors else table
        table = table * tensors["weights"].astype(np.float32)[:, None] if "weights" in tensors else table
        unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "")
    else:
        raise ComponentError(
            f"model {model!r} has the tensors {', '.join(sorted(tensors)[:3])}, expected a table of static embeddings "
            "('embeddings' or 'embedding.weight'). For other models set embedder=sentence_transformers."
        )
    # Not the size of the vocabulary: its ids may have gaps, and SciPy does not check the bounds of the table.
    n_ids = 1 + max(tokenizer.get_vocab().values(), default=-1)
    if table.ndim != 2 or len(table) < n_ids:
        raise ComponentError(
            f"model {model!r} has a table of shape {table.shape} for tokens with ids up to {n_ids - 1}, expected one "
            "row per id"
        )
    if not np.isfinite(table).all():
        n_bad = int((~np.isfinite(table)).any(axis=1).sum())
        raise ComponentError(
            f"model {model!r} has {n_bad} rows with NaN or infinite numbers. The file is probably damaged. "
            "Download it again."
        )
    return StaticTable(tokenizer, np.ascontiguousarray(table, dtype=np.float32), unknown)


def _find_table(folder: Path) -> Path:
    """Return the folder that contains the table: the folder itself or one inside it."""
    parents = sorted((path.parent for path in folder.rglob("tokenizer.json")), key=lambda path: len(path.parts))
    return next((parent for parent in parents if (parent / "model.safetensors").is_file()), folder)
