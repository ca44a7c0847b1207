"""Every YAML under conf/ composes, spells out every field, and builds."""

import dataclasses
import importlib
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_module
from omegaconf import DictConfig, OmegaConf

import conf
from runner import grid_launcher
from runner.request import check_jobs
from tests.runner.sweeping import compose_job

ROOT = Path(conf.__file__).parent
FILES = sorted(path.relative_to(ROOT) for path in ROOT.glob("*/*.yaml"))
OPTIONS = [path for path in FILES if path.parent.name != "sweeps"]
SWEEPS = [path for path in FILES if path.parent.name == "sweeps"]
NEED_A_ROOT = {"crud_rag", "omnieval"}


def chosen(path: Path) -> list[str]:
    """The overrides that choose a file, with what it cannot do without."""
    root = ["dataset.root=somewhere"] if path.stem in NEED_A_ROOT else []
    return [f"{path.parent.name}={path.stem}", *root]


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping with a _target_, at any depth."""
    if isinstance(value, dict):
        if "_target_" in value:
            yield value
        for item in value.values():
            yield from nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from nodes(item)


def test_there_are_options_for_every_group() -> None:
    groups = {path.parent.name for path in OPTIONS}
    named = {name for entry in OmegaConf.load(ROOT / "config.yaml").defaults if entry != "_self_" for name in entry}
    assert groups == {name for name in named if not str(name).startswith("override")}


@pytest.mark.parametrize("path", OPTIONS, ids=str)
class TestOptions:
    def test_builds(self, path: Path) -> None:
        (request,) = check_jobs([compose_job(*chosen(path))])
        assert getattr(request.cell, path.parent.name) is not None

    def test_spells_out_every_field_and_no_other(self, path: Path) -> None:
        for node in nodes(compose_job(*chosen(path)).config[path.parent.name]):
            module, _, name = node["_target_"].rpartition(".")
            fields = {field.name for field in dataclasses.fields(getattr(importlib.import_module(module), name))}
            assert set(node) - {"_target_"} == fields, node["_target_"]

    def test_says_on_its_first_line_what_it_is(self, path: Path) -> None:
        first = (ROOT / path).read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# ")
        assert first.endswith(".")
        assert len(first.split()) >= 3


@pytest.mark.parametrize("path", SWEEPS, ids=str)
class TestSweeps:
    @pytest.fixture
    def config(self, path: Path) -> DictConfig:
        grid_launcher.register()
        with initialize_config_module("conf", version_base="1.3"):
            return compose("config", [f"+sweeps={path.stem}"], return_hydra_config=True)

    def test_its_cells_are_legal(self, path: Path, config: DictConfig) -> None:
        """One axis at a time: the axes of our presets do not depend on each other, and grids are large."""
        axes = {name: str(values).split(",") for name, values in config.hydra.sweeper.params.items()}
        assert any(len(values) > 1 for values in axes.values())
        first = {name: values[0] for name, values in axes.items()}
        cells = [first | {name: value} for name, values in axes.items() for value in values]
        jobs = [compose_job(f"+sweeps={path.stem}", *(f"{k}={v}" for k, v in cell.items())) for cell in cells]
        assert len(check_jobs(jobs)) == sum(map(len, axes.values()))

    def test_says_what_it_is_and_how_it_is_run(self, path: Path) -> None:
        package, comment = (ROOT / path).read_text(encoding="utf-8").splitlines()[:2]
        assert package == "# @package _global_"
        assert f"python -m runner -m +sweeps={path.stem}" in comment

    def test_names_the_right_number_of_cells_if_any(self, path: Path, config: DictConfig) -> None:
        comment = (ROOT / path).read_text(encoding="utf-8").splitlines()[1]
        n_cells = prod(len(str(values).split(",")) for values in config.hydra.sweeper.params.values())
        named = re.search(r"(\w+) cells", comment)
        assert named is None or named[1] in {str(n_cells), {2: "Two"}.get(n_cells)}
