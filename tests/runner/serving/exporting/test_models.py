"""An export contains its models whole."""

import json
from pathlib import Path

import pytest

from components.errors import ConfigError
from runner.serving.exporting.exported_cell import _require_whole_models


def test_adapter_without_its_base_is_not_exported(tmp_path: Path) -> None:
    """The base model would stay outside the export. If retrained there, vectors would differ from the export's."""
    base, tuned = tmp_path / "base", tmp_path / "tuned"
    for folder in (base, tuned):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"weights")
    _require_whole_models({"embedder.model": tuned})
    (tuned / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    with pytest.raises(ConfigError, match=r"embedder\.model: .*tuned is an adapter of .*base.*merge_and_unload"):
        _require_whole_models({"embedder.model": tuned})
    _require_whole_models({"llm.model": base, "llm.adapter": tuned})
