"""Every YAML under conf/ and sweeps/ composes, spells out every field, and builds."""

import dataclasses
import importlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

import conf
import sweeps
from analysis import published
from runner.launch import grid_launcher
from runner.launch.grid_sweeper import expand
from runner.launch.hydra_state import own_hydra
from runner.launch.request import check_jobs
from runner.pipeline.planned import Job
from runner.results import CellResult
from tests.runner.sweeping import compose_job

ROOT = Path(conf.__file__).parent
OPTIONS = sorted(path.relative_to(ROOT) for path in ROOT.glob("*/*.yaml"))
SWEEPS = sorted(Path(sweeps.__file__).parent.glob("*.yaml"))
NEEDED = {
    "llm/vllm.yaml": ["llm.command=sh"],  # any program that is there
    **{f"dataset/{name}.yaml": ["dataset.root=somewhere"] for name in ("beir", "crud_rag", "financerag", "omnieval")},
    "embedder/llama_index.yaml": [
        "embedder.class_path=llama_index.core.MockEmbedding",
        "+embedder.arguments.embed_dim=8",
    ],
    "llm/llama_index.yaml": ["llm.class_path=llama_index.core.llms.MockLLM"],
    "reranker/rerank_api.yaml": ["reranker.base_url=http://localhost:8000/v1"],
    **{f"reranker/llm_{name}.yaml": ["reranker.llm.model=a-model"] for name in ("listwise", "pairwise", "pointwise")},
    **{
        f"expander/{name}.yaml": ["llm=scripted"]
        for name in (
            "combined",
            "decomposition",
            "hyde",
            "hypothetical_document",
            "keywords",
            "paraphrase",
            "rewrite",
            "step_back",
        )
    },
    **{
        option: ["llm=scripted"]
        for option in ("refiner/summary.yaml", "refiner/combined.yaml", "header/contextual.yaml")
    },
    "executor/slurm.yaml": ["executor.cluster=local"],  # there need be no sbatch
    "examples/held_out.yaml": ["dataset=part"],
    "examples/from_dataset.yaml": ["examples.dataset.samples=somewhere", "examples.dataset.documents=README.md"],
    "reranker/late_interaction.yaml": ["embedder=bge-m3-heads"],
    "dataset/jsonl.yaml": [f"dataset.documents={ROOT.parent / 'README.md'}", "dataset.samples=somewhere"],
    **{
        f"judge/{name}.yaml": ["judge.llm.model=a-model"]
        for name in ("omnieval", "omnieval_en", "omnieval_zh", "quest_eval", "quest_eval_en", "quest_eval_zh")
    },
}
LEFT_OPEN = {'model: ""': "model=owner/name", 'revision: ""': f"revision={'0' * 40}"}
"""What an option leaves to the reader, and what could stand there."""


def needed(option: Path) -> list[str]:
    """What an option cannot do without."""
    lines = {line.partition(" #")[0] for line in (ROOT / option).read_text(encoding="utf-8").splitlines()}
    left_open = [f"{option.parent.name}.{value}" for line, value in LEFT_OPEN.items() if line in lines]
    return [*NEEDED.get(option.as_posix(), []), *left_open]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the providers whose models have an option."""
    for variable in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, "not-a-real-key")


def chosen(path: Path) -> list[str]:
    """The overrides that choose a file, with what it cannot do without."""
    return [f"{path.parent.name}={path.stem}", *needed(path)]


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
    def test_builds_and_spells_out_every_field_and_no_other(self, path: Path) -> None:
        job = compose_job(*chosen(path))
        (request,) = check_jobs([job])
        assert getattr(request.cell, path.parent.name) is not None
        for node in nodes(job.config[path.parent.name]):
            module, _, name = node["_target_"].rpartition(".")
            fields = {field.name for field in dataclasses.fields(getattr(importlib.import_module(module), name))}
            assert set(node) - {"_target_"} == fields, node["_target_"]

    def test_says_on_its_first_line_what_it_is(self, path: Path) -> None:
        first = (ROOT / path).read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# ")
        assert first.endswith(".")
        assert len(first.split()) >= 3


def test_what_comments_advise_composes() -> None:
    """Such as "Others: reranker@reranker.steps.precise=bge-reranker-v2-m3"."""
    advised = []
    for path in OPTIONS:
        comments = "".join(line.partition("#")[2] for line in (ROOT / path).read_text(encoding="utf-8").splitlines())
        advised += [(path, found) for found in re.findall(r"\+?[\w/]+@[\w.]+=[\w.-]+(?<![.,])", comments)]
    for path, override in advised:
        key, value = override.partition("=")[::2]
        node = compose_job(*chosen(path), override).config
        for name in key.partition("@")[2].split("."):
            node = node[name]
        assert "_target_" in node, f"{path}: {override} adds nothing of {value}"
    assert len(advised) >= 6


@cache
def sweeper_of(preset: str) -> DictConfig:
    """`hydra.sweeper` as a preset sets it."""
    grid_launcher.register()
    with own_hydra() as hydra:
        return hydra.compose_config("config", [f"+sweeps={preset}"], RunMode.MULTIRUN).hydra.sweeper


def axes_of(sweeper: DictConfig) -> dict[str, list[str]]:
    return {name: [f"{name}={value}" for value in values.split(",")] for name, values in sweeper.params.items()}


def jobs_of(preset: str, *, one_at_a_time: bool) -> list[Job]:
    """The cells of a preset, with what their options cannot do without."""
    sweeper = sweeper_of(preset)
    cells = expand(axes_of(sweeper), sweeper.coupled, one_at_a_time=one_at_a_time)
    root = ["dataset.root=somewhere"] if preset.startswith(("crud_", "omnieval_", "financerag_")) else []
    return [composed(f"+sweeps={preset}", *root, *needed_by(choices), *choices) for choices in cells]


composed = cache(compose_job)


def needed_by(choices: Sequence[str]) -> list[str]:
    """What the options among the choices of a cell cannot do without."""
    files = [Path(*choice.split("=", 1)).with_name(f"{choice.partition('=')[2]}.yaml") for choice in choices]
    return [more for file in files if file in OPTIONS for more in needed(file)]


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
class TestSweeps:
    @pytest.fixture
    def sweeper(self, path: Path) -> DictConfig:
        return sweeper_of(path.stem)

    def test_its_cells_are_legal(self, path: Path) -> None:
        """One axis at a time: the axes of our presets do not depend on each other, and grids are large."""
        jobs = jobs_of(path.stem, one_at_a_time=True)
        assert len(jobs) > 1
        assert len(check_jobs(jobs)) == len(jobs)

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
    """The presets ask for what the papers' tables hold: their base, and the values of one component."""

    @pytest.mark.parametrize(
        "name", [*(f"crud_rag/{number}" for number in range(3, 9)), "omnieval/4", "omnieval/5", "financerag/1"]
    )
    def test_its_cells_are_rows_of_the_table(self, name: str) -> None:
        paper, _, number = name.partition("/")
        preset = f"{paper.removesuffix('_rag')}_table{number}"
        jobs = jobs_of(preset, one_at_a_time=sweeper_of(preset).one_at_a_time)
        cells = [CellResult("x", "OK", job.axes, (), job.config, {"name": paper}) for job in jobs]
        table = published.read_table(name)
        paired = published.pair(table, cells)
        assert len(paired.pairs) == len(cells)
        # The model that a preset leaves to the reader: the default embedder, and the default language model.
        assert {other.axis for pair in paired.pairs for other in pair.differences} <= {"embedder", "llm"}
        if paper != "financerag":  # most of its expansions do not come with the data
            assert len(cells) == len(table.rows)
