"""Dimensions of an embedder's vectors, read from small files of the model before its weights are loaded."""

import json
from pathlib import Path

from components.json_value import Json
from components.pretrained.model_files import find_model_folder

_LENGTH_KEPT = {"Transformer", "Normalize", "Dropout", "LayerNorm", "MultiVectorMask"}
"""Modules of sentence-transformers that do not change the length of vectors."""


def token_dimensions(model: str, revision: str) -> int | None:
    """Return the dimensions of a model's token vectors, None if the model is not on this machine or does not state
    them.
    """
    folder = find_model_folder(model, revision)
    return _token_dimensions(folder) if folder else None


def text_dimensions(model: str, revision: str) -> int | None:
    """Return the maximum dimensions of a model's vectors in sentence-transformers.

    With another pooling they may be shorter. Returns None if the model is not on this machine or does not state them.
    """
    folder = find_model_folder(model, revision)
    if folder is None:
        return None
    n_dimensions = _token_dimensions(folder)
    for module in _read(folder / "modules.json", []):
        kind, config = module["type"].rpartition(".")[2], _read(folder / module["path"] / "config.json", {})
        if kind == "Dense":
            n_dimensions = config.get("out_features")
        elif kind == "Pooling":
            n_dimensions = n_dimensions and n_dimensions * _n_poolings(config)
        elif kind not in _LENGTH_KEPT:
            return None
    return n_dimensions


def _token_dimensions(folder: Path) -> int | None:
    config = _read(folder / "config.json", {})
    size = config.get("text_config", config).get("hidden_size")
    return size if isinstance(size, int) else None


def _n_poolings(config: dict[str, Json]) -> int:
    """Return the number of poolings, whose vectors are concatenated."""
    named = config.get("pooling_mode")
    if named is not None:
        return 1 if isinstance(named, str) else len(named)
    return max(sum(is_on is True for name, is_on in config.items() if name.startswith("pooling_mode_")), 1)


def _read(file: Path, otherwise: Json) -> Json:
    """Return the content of a JSON file, or `otherwise` if it is missing or unreadable, which loading the model
    reports.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return otherwise
    return content if isinstance(content, type(otherwise)) else otherwise
