"""Exported folders from strangers: they can be read, and without trust they run only our own code."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runner
from components.errors import ComponentError, ConfigError, RagGridError
from runner.serving.folder_description import PIPELINE
from runner.serving.pipeline_command import main
from tests.conftest import MakeOnce
from tests.hostile.planting import Planted
from tests.runner.serving.exporting.exporting import export
from tests.runner.sweeping import FEW_METRICS, read_unsealed, run_small

Node = dict[str, Any]
REVISION = "0" * 40


@pytest.fixture(scope="session")
def exported(make_once: MakeOnce) -> Path:
    def fill(folder: Path) -> None:
        assert run_small(folder, (*FEW_METRICS, "retriever=hybrid_rerank", "embedder=lsa", "llm=scripted")) == 0
        assert export(folder, "best", folder / "winner") == 0

    return make_once("given-export", fill) / "winner"


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    return shutil.copytree(exported, tmp_path / "winner")


def change(folder: Path, how: Callable[[Node], object]) -> None:
    path = folder / PIPELINE / "pipeline.json"
    described = json.loads(read_unsealed(path))
    how(described)
    path.write_text(json.dumps(described), encoding="utf-8")


def targets(node: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The places of all components."""
    if isinstance(node, dict):
        if "_target_" in node:
            yield place
        for name, value in node.items():
            yield from targets(value, (*place, name))


def at(node: Node, place: tuple[str, ...]) -> Node:
    for name in place:
        node = node[name]
    return node


def vllm(program: Path, **fields: Any) -> Node:
    target = "components.llms.vllm_chat.VllmChat"
    return {
        "_target_": target,
        "model": "m",
        "revision": REVISION,
        "command": str(program),
        "start_timeout_s": 5,
        **fields,
    }


NAMING_CODE: Mapping[str, Callable[[Node, Path], object]] = {
    "a program": lambda parts, program: parts.update(llm=vllm(program)),
    "a program of the path": lambda parts, program: parts.update(llm=vllm(Path("sh"))),
    "a model with code": lambda parts, program: parts["llm"].update(
        _target_="components.llms.transformers_chat.TransformersChat",
        model="m",
        revision="main",
        trust_remote_code=True,
    ),
    "a class of llama-index": lambda parts, program: parts["llm"].update(
        _target_="components.llms.llama_index.LlamaIndexChat", class_path="llama_index.core.llms.MockLLM", arguments={}
    ),
    "a package": lambda parts, program: parts["llm"].update(_target_="evil_package.Doubled"),
    "a function": lambda parts, program: parts["llm"].update(_target_="os.system", command=str(program)),
}


@pytest.mark.parametrize("name", NAMING_CODE)
def test_export_that_names_code_is_refused(name: str, folder: Path, evil: Planted) -> None:
    def poison(described: Node) -> None:
        described["plugins"] = ["evil_package", "os"]
        NAMING_CODE[name](described["components"], evil.program)

    change(folder, poison)
    with pytest.raises(ConfigError, match=r"winner.*: answering runs .*If you trust the author of the folder, use "):
        runner.load_pipeline(folder).answer("?")
    assert main(folder, ["a question"]) == 2


def test_export_component_of_an_unnamed_package_is_refused(folder: Path, evil: Planted) -> None:
    described: Node = json.loads(read_unsealed(folder / PIPELINE / "pipeline.json"))
    places = list(targets(described["components"]))
    assert len(places) > 8
    for place in places:
        other = json.loads(json.dumps(described))
        other["plugins"] = ["evil_package"]
        at(other["components"], place)["_target_"] = "evil_package.Doubled"
        (folder / PIPELINE / "pipeline.json").write_text(json.dumps(other), encoding="utf-8")
        with pytest.raises(ConfigError, match=rf"{'.'.join(place)}\._target_"):
            runner.load_pipeline(folder)


def test_unused_plugins_of_an_export_are_not_imported(folder: Path, evil: Planted) -> None:
    change(folder, lambda described: described.update(plugins=["evil_package"]))
    assert runner.load_pipeline(folder).search("电车", n=1)


def test_export_of_built_in_components_needs_no_trust(folder: Path) -> None:
    assert main(folder, ["电车"]) == 0


def test_unknown_export_components_are_refused(folder: Path, evil: Planted) -> None:
    change(folder, lambda described: described["components"].update(more={"_target_": "components.llms.no.No"}))
    with pytest.raises(ConfigError, match="more: unknown component, expected one of "):
        runner.load_pipeline(folder)


def test_trusted_export_runs_its_program(folder: Path, evil: Planted) -> None:
    change(folder, lambda described: described["components"].update(llm=vllm(evil.program, start_timeout_s=30)))
    pipeline = runner.load_pipeline(folder, trust=True)
    with pytest.raises(ComponentError, match="the server ended before it was healthy"):
        pipeline.answer("?")
    assert evil.mark.exists(), "it was trusted"
    evil.forget()


class Runs:
    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._mark,)


def test_pickled_array_in_an_export_is_not_loaded(folder: Path, evil: Planted) -> None:
    root = folder / PIPELINE
    pickled = np.array([Runs(evil.mark)], dtype=object)

    def replace_arrays(described: Node) -> None:
        for stage in described["stages"]:
            for name in stage["files"]:
                if name.endswith(".npy"):
                    path = root / stage["folder"] / name
                    path.unlink()  # the file may be a hard link to the store's file
                    np.save(path, pickled, allow_pickle=True)
                    stage["files"][name] = [sha256(path.read_bytes()).hexdigest(), path.stat().st_size]

    change(folder, replace_arrays)
    assert list(root.rglob("*.npy"))
    with pytest.raises((RagGridError, ValueError)):
        runner.load_pipeline(folder).answer("电车")
    np.load(next(root.rglob("*.npy")), allow_pickle=True)
    assert evil.mark.exists(), "what was planted would run"
    evil.forget()
