"""Every YAML under conf/ and sweeps/ composes, spells out every field, and builds."""

import dataclasses
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_module
from omegaconf import DictConfig, OmegaConf

import conf
import sweeps
from analysis import published
from runner.launch import grid_launcher
from runner.launch.grid_sweeper import expand
from runner.launch.request import check_jobs
from runner.results import CellResult
from tests.runner.sweeping import compose_job

ROOT = Path(conf.__file__).parent
OPTIONS = sorted(path.relative_to(ROOT) for path in ROOT.glob("*/*.yaml"))
SWEEPS = sorted(Path(sweeps.__file__).parent.glob("*.yaml"))
NEEDED = {
    **{f"dataset/{name}.yaml": ["dataset.root=somewhere"] for name in ("beir", "crud_rag", "financerag", "omnieval")},
    "dataset/jsonl.yaml": [f"dataset.documents={ROOT.parent / 'README.md'}", "dataset.samples=somewhere"],
    "llm/openai.yaml": ["llm.model=a-model", "llm.api_key_env=''"],
    "reranker/cross_encoder.yaml": ["reranker.model=owner/name", f"reranker.revision={'0' * 40}"],
    "embedder/openai.yaml": ["embedder.model=a-model", "embedder.api_key_env=''"],
    "embedder/sentence_transformers.yaml": ["embedder.model=owner/name", f"embedder.revision={'0' * 40}"],
    **{
        f"judge/{name}.yaml": ["judge.llm.model=a-model", "judge.llm.api_key_env=''"]
        for name in ("omnieval", "omnieval_en", "omnieval_zh", "quest_eval", "quest_eval_en", "quest_eval_zh")
    },
}


def chosen(path: Path) -> list[str]:
    """The overrides that choose a file, with what it cannot do without."""
    return [f"{path.parent.name}={path.stem}", *NEEDED.get(path.as_posix(), [])]


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


def sweeper_of(path: Path) -> DictConfig:
    """`hydra.sweeper` as a preset sets it."""
    grid_launcher.register()
    with initialize_config_module("conf", version_base="1.3"):
        return compose("config", [f"+sweeps={path.stem}"], return_hydra_config=True).hydra.sweeper


def axes_of(sweeper: DictConfig) -> dict[str, list[str]]:
    return {name: [f"{name}={value}" for value in values.split(",")] for name, values in sweeper.params.items()}


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
class TestSweeps:
    @pytest.fixture
    def sweeper(self, path: Path) -> DictConfig:
        return sweeper_of(path)

    def test_its_cells_are_legal(self, path: Path, sweeper: DictConfig) -> None:
        """One axis at a time: the axes of our presets do not depend on each other, and grids are large."""
        jobs = expand(axes_of(sweeper), sweeper.coupled, one_at_a_time=True)
        assert len(jobs) > 1
        preset = [f"+sweeps={path.stem}", *(["dataset.root=somewhere"] if path.stem.startswith("crud_") else [])]
        assert len(check_jobs([compose_job(*preset, *job) for job in jobs])) == len(jobs)

    def test_says_what_it_is_and_how_it_is_run(self, path: Path) -> None:
        package, comment = path.read_text(encoding="utf-8").splitlines()[:2]
        assert package == "# @package _global_"
        assert f"python -m runner -m +sweeps={path.stem}" in comment

    def test_names_the_right_number_of_cells_if_any(self, path: Path, sweeper: DictConfig) -> None:
        comment = path.read_text(encoding="utf-8").splitlines()[1]
        n_cells = len(expand(axes_of(sweeper), sweeper.coupled, one_at_a_time=sweeper.one_at_a_time))
        named = re.search(r"(\w+) cells", comment)
        assert named is None or named[1] in {str(n_cells), {2: "Two"}.get(n_cells)}


def test_every_prompt_speaks_to_a_closed_book_as_to_the_others_but_of_no_sources() -> None:
    """An option that changes `system` alone would leave closed-book cells without what it adds."""
    prompts = [compose_job(f"prompt={path.stem}").config["prompt"] for path in OPTIONS if path.parent.name == "prompt"]
    assert len({prompt["closed_book_system"] for prompt in prompts}) == len({prompt["system"] for prompt in prompts})
    assert all(prompt["nothing_found"] and prompt["closed_book"] for prompt in prompts)
    assert not any(re.search("sources|资料", prompt["closed_book_system"]) for prompt in prompts)


class TestPublishedTables:
    """The presets ask for what the tables of CRUD-RAG's paper hold: its base, and the values of one component."""

    @pytest.mark.parametrize("number", [3, 4, 5, 7])
    def test_every_row_of_the_table_is_a_cell(self, number: int) -> None:
        sweeper = sweeper_of(Path(f"sweeps/crud_table{number}.yaml"))
        jobs = expand(axes_of(sweeper), sweeper.coupled, one_at_a_time=sweeper.one_at_a_time)
        composed = [compose_job(f"+sweeps=crud_table{number}", "dataset.root=x", "embedder=lsa", *job) for job in jobs]
        cells = [CellResult("x", "OK", job.axes, (), job.config, {"name": "crud_rag"}) for job in composed]
        table = published.read_table(f"crud_rag/{number}")
        paired = published.pair(table, cells)
        assert len(paired.pairs) == len(cells) == len(table.rows)
        models = {"embedder", "llm"}
        assert all({other.axis for other in pair.differences} <= models for pair in paired.pairs)
