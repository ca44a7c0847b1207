"""Composing part by part gives the same configuration as Hydra."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.errors import MissingConfigException
from hydra.types import RunMode
from omegaconf import OmegaConf

from runner.launch import grid_launcher
from runner.launch.hydra_startup import REPLACE
from runner.launch.hydra_state import isolate_hydra
from runner.launch.parts_loader import PartsLoader

pytestmark = pytest.mark.usefixtures("shortcuts")


def search_path(folder: Path | None = None) -> ConfigSearchPath:
    grid_launcher.register()
    with isolate_hydra(folder) as hydra:
        return hydra.config_loader.get_search_path()


def composed(loader: ConfigLoaderImpl, overrides: list[str]) -> tuple[str, Any]:
    config = loader.load_configuration("config", list(overrides), RunMode.RUN)
    return OmegaConf.to_yaml(config), OmegaConf.is_struct(config)


def test_parts_loader_equals_hydra_on_first_and_repeated_composition() -> None:
    places = search_path()
    choices = [
        [],
        ["retriever=hybrid_rerank", "embedder=bge-m3", "top_k=3", "hydra.job.name=x"],
        ["language=en", "llm=scripted", "~metrics.scores.em", "+metrics.scores.again={_target_: x}"],
        ["+sweeps=smoke", "retriever=bm25", "hydra/launcher=basic"],
        ["expander=combined", "reranker=cascade", "+prompt@other_prompt=english"],
    ]
    parts = PartsLoader(places)
    for overrides in choices:
        whole = composed(ConfigLoaderImpl(places), overrides)
        assert composed(parts, overrides) == whole, overrides
        assert composed(parts, overrides) == whole, overrides


def write(folder: Path, option: str, text: str) -> None:
    path = folder / "llm" / f"{option}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_composition_is_equal_without_shortcuts(monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = ["retriever=hybrid", "reranker=lexical", "top_k=7"]
    quick = composed(PartsLoader(search_path()), overrides)
    parts: list[str] = []
    monkeypatch.setattr(PartsLoader, "_compose_part", lambda *arguments: parts.append("made"))
    monkeypatch.setenv("RAG_GRID_PLAIN", "hydra")
    assert (composed(PartsLoader(search_path()), overrides), parts) == (quick, [])


def test_mapping_merged_into_a_referenced_part_equals_hydra(tmp_path: Path) -> None:
    """Hydra merges the override into a copy of the referenced node."""
    write(tmp_path, "refers", "_target_: x\ntokenizer: ${chunk}\n")
    write(tmp_path, "fills", "defaults:\n  - refers\n  - _self_\ntokenizer:\n  mine: 1\n")
    places = search_path(tmp_path)
    text, _ = composed(PartsLoader(places), ["llm=fills"])
    assert OmegaConf.create(text).llm.tokenizer.keys() > {"mine"}
    assert text == composed(ConfigLoaderImpl(places), ["llm=fills"])[0]


def test_user_file_is_read_again_by_the_next_loader(tmp_path: Path) -> None:
    places = search_path(tmp_path)
    for reply in ("one", "two"):
        write(tmp_path, "mine", f"_target_: x\nreply: {reply}\n")
        text, _ = composed(PartsLoader(places), ["llm=mine"])
        assert OmegaConf.create(text).llm.reply == reply


def test_latest_registration_of_a_component_is_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ConfigStore.instance()
    monkeypatch.setattr(store, "repo", copy.deepcopy(store.repo))
    with pytest.raises(MissingConfigException):
        composed(PartsLoader(search_path()), ["llm=mine"])
    for reply in ("one", "two"):
        store.store("mine", {"_target_": "x", "reply": reply}, group="llm", **REPLACE)
        text, _ = composed(PartsLoader(search_path()), ["llm=mine"])
        assert OmegaConf.create(text).llm.reply == reply


def test_config_file_is_merged_once_by_a_loader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loader = PartsLoader(search_path(tmp_path))
    composed(loader, ["retriever=bm25"])
    merged: list[str] = []
    load = ConfigLoaderImpl._load_single_config

    def noted(self: ConfigLoaderImpl, default: Any, repo: Any) -> Any:
        merged.append(default.config_path)
        return load(self, default, repo)

    monkeypatch.setattr(ConfigLoaderImpl, "_load_single_config", noted)
    composed(loader, ["retriever=bm25", "reranker=lexical"])
    assert set(merged) == {"reranker/lexical"}
