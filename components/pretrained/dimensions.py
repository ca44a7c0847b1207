"""How long the vectors of an embedder will be: known from the small files of a model, before its weights are loaded."""

import json
from pathlib import Path

from components.json_value import Json
from components.pretrained.model_files import folder_here

_LENGTH_KEPT = {"Transformer", "Normalize", "Dropout", "LayerNorm"}
"""Modules of sentence-transformers that leave vectors as long as they are."""


def token_dimensions(model: str, revision: str) -> int | None:
    """Of the vectors of a model's tokens; None if the model is not on this machine, or its config does not say."""
    folder = folder_here(model, revision)
    return _token_dimensions(folder) if folder else None


def text_dimensions(model: str, revision: str) -> int | None:
    """Of the vectors that sentence-transformers makes with a model, at most: where another pooling is chosen they may
    be shorter. None if the model is not on this machine, or if its files do not say.
    """
    folder = folder_here(model, revision)
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
    found = config.get("text_config", config).get("hidden_size")
    return found if isinstance(found, int) else None


def _n_poolings(config: dict[str, Json]) -> int:
    """The vectors of several poolings are put one behind the other."""
    named = config.get("pooling_mode")
    if named is not None:
        return 1 if isinstance(named, str) else len(named)
    return max(sum(is_on is True for name, is_on in config.items() if name.startswith("pooling_mode_")), 1)


def _read(file: Path, otherwise: Json) -> Json:
    """What a JSON file holds; `otherwise` for one that is not there or cannot be read, which is said when the model is
    loaded.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return otherwise
    return found if isinstance(found, type(otherwise)) else otherwise
