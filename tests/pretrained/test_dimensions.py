"""The number of dimensions, read from the small files of a model."""

import json
from pathlib import Path

import pytest

from components.json_value import Json
from components.pretrained.dimensions import text_dimensions, token_dimensions

MODULE = "sentence_transformers.models."


def write(folder: Path, files: dict[str, Json]) -> str:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    return str(folder)


def modules(*kinds: str) -> list[dict[str, str]]:
    return [{"type": MODULE + kind, "path": f"{place}_{kind}" if place else ""} for place, kind in enumerate(kinds)]


POOLING = modules("Transformer", "Pooling")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 32),
        ({"modules.json": POOLING, "1_Pooling/config.json": {"pooling_mode": "mean"}}, 32),
        ({"modules.json": POOLING, "1_Pooling/config.json": {"pooling_mode": ["cls", "mean"]}}, 64),
        (
            {
                "modules.json": POOLING,
                "1_Pooling/config.json": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
            },
            32,
        ),
        (
            {
                "modules.json": modules("Transformer", "Pooling", "Dense", "Dense", "Normalize"),
                "2_Dense/config.json": {"out_features": 128},
                "3_Dense/config.json": {"out_features": 48},
            },
            48,
        ),
        ({"modules.json": modules("Transformer", "LSTM")}, None),
        ({"modules.json": modules("StaticEmbedding")}, None),
    ],
)
def test_text_dimensions_follow_the_modules_of_sentence_transformers(
    tmp_path: Path, files: dict[str, Json], expected: int | None
) -> None:
    model = write(tmp_path, {"config.json": {"hidden_size": 32}, **files})
    assert (text_dimensions(model, ""), token_dimensions(model, "")) == (expected, 32)


@pytest.mark.parametrize(("config", "expected"), [({"text_config": {"hidden_size": 7}}, 7), ({}, None), ([], None)])
def test_token_dimensions_are_read_from_nested_and_empty_configs(
    tmp_path: Path, config: Json, expected: int | None
) -> None:
    assert token_dimensions(write(tmp_path, {"config.json": config}), "") == expected


@pytest.mark.parametrize("model", ["owner/name", "no id at all"])
def test_dimensions_of_an_absent_model_are_unknown(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert text_dimensions(model, "0" * 40) is None
