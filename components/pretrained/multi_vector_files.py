"""Files of ColBERT checkpoints in the layouts that sentence-transformers reads: its own, PyLate's and Stanford's.

They state the marker before the texts of each side, the number of tokens that the model reads, and whether queries are
expanded with mask tokens. It does not import torch, because worker processes cannot be forked after that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.json_value import Json
from components.pretrained.dimensions import text_dimensions
from components.pretrained.model_files import find_model_folder
from components.pretrained.sentence_encoder import Side, side_prefix
from components.pretrained.sparse_routes import first_module
from components.pretrained.token_limit import count_tokens, find_max_positions, is_token, model_json, token_limit

_SETTINGS = "config_sentence_transformers.json"
_STANFORD_ARCHITECTURE = "HF_ColBERT"
_STANFORD_METADATA = "artifact.metadata"
_DEFAULT_QUERY_LENGTH = 32
"""Tokens of an expanded query in PyLate and in Stanford's code, if the files do not state another number."""

_PYLATE_KEYS = {
    "attend_to_expansion_tokens", "attend_to_mask_tokens", "do_query_expansion", "document_length", "document_prefix",
    "query_expansion", "query_length", "query_prefix", "skiplist_words",
}  # fmt: skip
"""Settings of which PyLate saves at least one. It expands queries by default."""


@dataclass(frozen=True)
class Lengths:
    """Tokens that a model reads on one side, including special tokens; None if unlimited. Queries with fewer than
    `expanded_to` tokens are filled up to that number with mask tokens; None if they are not expanded. With `is_fixed`
    this number is also the limit.
    """

    limit: int | None
    expanded_to: int | None = None
    is_fixed: bool = False


def require_token_vectors(model: str, revision: str) -> None:
    """Raise ComponentError unless the model is a ColBERT checkpoint.

    sentence-transformers adds a projection with random weights to any other model.
    """
    kind = model_json(model, revision, _SETTINGS).get("model_type")
    architectures = model_json(model, revision, "config.json").get("architectures") or []
    is_retriever = any(name.endswith("ForRetrieval") for name in architectures)
    if kind in ("MultiVectorEncoder", "ColBERT") or is_retriever or _STANFORD_ARCHITECTURE in architectures:
        return
    raise ComponentError(
        f"model {model!r} has no token vectors, and sentence-transformers would add a projection with random "
        "weights, expected a ColBERT checkpoint: a folder of MultiVectorEncoder, of PyLate, or of Stanford's "
        "ColBERT"
    )


def side_prompt(model: str, revision: str, side: Side, override: str | None) -> str:
    """Return the text before all texts of a side: `override`, or for None the text in the files, or "" if they have no
    such text.

    Raises ComponentError if the model cannot be reached.
    """
    if override is not None:
        return override
    prompt = side_prefix(model, revision, side, None)
    if _is_stanford(model, revision):
        metadata = model_json(model, revision, _STANFORD_METADATA)
        name, default = ("query_token_id", "[unused0]") if side is Side.QUERY else ("doc_token_id", "[unused1]")
        return prompt or f"{metadata.get(name) or default} "
    marker: str = model_json(model, revision, _SETTINGS).get(f"{side.value}_prefix") or ""
    return marker + prompt.removeprefix(marker)


def side_lengths(model: str, revision: str, side: Side, override: int | None) -> Lengths:
    """Return the numbers of tokens of a side. `override` replaces the limit in the files, but not the model's own.

    Raises ComponentError if the model cannot be reached.
    """
    folder, _ = first_module(model, revision, side)
    model_limit = find_max_positions(model, revision, folder) or token_limit(model, revision, folder)
    settings = _settings(model, revision, folder)
    stated = settings.get(f"{side.value}_length") or token_limit(model, revision, folder)
    expansion = settings.get("query_expansion") if side is Side.QUERY else None
    if expansion and expansion["strategy"] == "fixed":
        length = _smallest(override or expansion["length"], model_limit)
        return Lengths(length, length, is_fixed=True)
    limit = _smallest(override or stated, model_limit)
    return Lengths(limit, _smallest(expansion["length"], limit) if expansion else None)


def count_side_tokens(model: str, revision: str, texts: Sequence[str], side: Side, prompt: str) -> NDArray[np.int64]:
    """Return int64[n_texts], the tokens of each text with its prompt before it is cut or expanded.

    The first word of a prompt is the marker of its side, and a single token if the vocabulary contains it. Raises
    ComponentError if the tokenizer cannot be loaded.
    """
    folder, _ = first_module(model, revision, side)
    marker = next(
        (word for word in (prompt, *prompt.split()[:1]) if word and is_token(model, revision, word, folder)), ""
    )
    rest = prompt.removeprefix(marker)
    return count_tokens(model, revision, [rest + text for text in texts], folder) + bool(marker)


def vector_dimensions(model: str, revision: str) -> int | None:
    """Return the dimensions of a token's vector, None if the model is not on this machine or does not state them."""
    if find_model_folder(model, revision) is None:
        return None
    if _is_stanford(model, revision):
        stated: int | None = model_json(model, revision, _STANFORD_METADATA).get("dim")
        return stated
    return text_dimensions(model, revision)


def _settings(model: str, revision: str, folder: str) -> dict[str, Json]:
    """Return `query_length`, `document_length` and `query_expansion` of the files, as far as they are stated."""
    within = f"{folder}/" if folder else ""
    return _older_settings(model, revision) | model_json(model, revision, f"{within}sentence_bert_config.json")


def _older_settings(model: str, revision: str) -> dict[str, Json]:
    """Return these settings from the files of PyLate or Stanford's ColBERT."""
    if _is_stanford(model, revision):
        metadata = model_json(model, revision, _STANFORD_METADATA)
        length = metadata.get("query_maxlen") or _DEFAULT_QUERY_LENGTH
        return {
            "document_length": metadata.get("doc_maxlen"),
            "query_expansion": {"strategy": "fixed", "length": length},
        }
    saved = model_json(model, revision, _SETTINGS)
    if not _PYLATE_KEYS & saved.keys() or "query_expansion" in saved or saved.get("do_query_expansion") is False:
        return {name: saved.get(name) for name in ("query_length", "document_length", "query_expansion")}
    length = saved.get("query_length") or _DEFAULT_QUERY_LENGTH
    return {
        "document_length": saved.get("document_length"),
        "query_expansion": {"strategy": "fixed", "length": length},
    }


def _is_stanford(model: str, revision: str) -> bool:
    return _STANFORD_ARCHITECTURE in (model_json(model, revision, "config.json").get("architectures") or [])


def _smallest(*counts: int | None) -> int | None:
    return min((count for count in counts if count), default=None)
