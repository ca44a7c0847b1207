"""Every preset composes with the flags and keys in its head, and its head says how its cells differ from the paper."""

import re
from functools import cache
from pathlib import Path

import pytest
from hydra.types import RunMode
from omegaconf import DictConfig

import sweeps
from analysis import published
from analysis.published.pairing import pair
from runner.launch import grid_launcher
from runner.launch.grid_sweeper import expand
from runner.launch.hydra_state import isolate_hydra
from runner.launch.preset_head import PresetHead, missing_parts, preset_lines, read_head, replaced_parts
from runner.launch.request import check_jobs
from runner.pipeline.building import CellBuilder
from runner.pipeline.planned_cells import Job
from runner.results import CellResult
from tests.runner.sweeping import compose_job

NAMES = sorted(path.stem for path in Path(sweeps.__file__).parent.glob("*.yaml"))
WITHOUT_PAPER = {"claims_demo", "financerag_components", "grid", "omnieval_judged", "retrievers", "smoke", "steps"}
PLACEHOLDERS = {"root": "somewhere", "model": "a-model", "base_url": "http://localhost:8000/v1", "embedder": "lsa"}
"""Values for the flags that a head leaves open: dataset.root=..."""

TABLES = {
    **{f"crud_table{number}": f"crud_rag/{number}" for number in range(3, 9)},
    **{f"crud_table{number}_free": f"crud_rag/{number}" for number in (3, 4, 5, 7)},
    "omnieval_table4": "omnieval/4",
    "omnieval_table5": "omnieval/5",
    "financerag_table1": "financerag/1",
    "financerag_ablation": "financerag/1",
}


def head_of(name: str) -> PresetHead:
    head = read_head(name)
    assert head is not None
    return head


@cache
def sweeper_of(name: str) -> DictConfig:
    """`hydra.sweeper` as a preset sets it."""
    grid_launcher.register()
    with isolate_hydra() as hydra:
        return hydra.compose_config("config", [f"+sweeps={name}"], RunMode.MULTIRUN).hydra.sweeper


def cells_of(name: str, *, one_at_a_time: bool) -> list[list[str]]:
    sweeper = sweeper_of(name)
    axes = {axis: [f"{axis}={value}" for value in values.split(",")] for axis, values in sweeper.params.items()}
    return expand(axes, sweeper.coupled, one_at_a_time=one_at_a_time)


def flags_of(head: PresetHead) -> list[str]:
    """Overrides of the command in the head, with something in the place of "..."."""
    flags = [word for word in head.command.split() if "=" in word and not word.startswith("+sweeps=")]
    return [_filled(flag) for flag in flags]


def _filled(flag: str) -> str:
    key, _, value = flag.partition("=")
    return f"{key}={PLACEHOLDERS[key.rpartition('.')[2]]}" if value == "..." else flag


@cache
def jobs_of(name: str) -> tuple[Job, ...]:
    """The cells, or of a full grid those that differ from the first one in one axis: grids are large."""
    one_at_a_time = sweeper_of(name).one_at_a_time or name == "grid"
    given = [f"+sweeps={name}", *flags_of(head_of(name))]
    return tuple(compose_job(*given, *choices) for choices in cells_of(name, one_at_a_time=one_at_a_time))


@pytest.fixture(autouse=True)
def remove_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("name", NAMES)
class TestHead:
    def test_preset_head_names_all_needs_of_its_cells(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The test sets only the command's flags, keys and folders."""
        head = head_of(name)
        assert head.needs
        monkeypatch.chdir(tmp_path)
        for folder in re.findall(r"the folder (\S+) in the working directory", head.needs):
            (tmp_path / folder).mkdir(parents=True)
            for file in ("model.safetensors", "tokenizer.json"):
                (tmp_path / folder / file).touch()
        assert f"python -m runner -m +sweeps={name}" in head.command
        if "OPENAI_API_KEY" in head.needs:
            monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
        jobs = jobs_of(name)
        assert len(check_jobs(jobs)) == len(jobs) > 1

    def test_preset_head_states_the_number_of_cells(self, name: str) -> None:
        n_cells = len(cells_of(name, one_at_a_time=sweeper_of(name).one_at_a_time))
        named = re.search(r"(\w+) cells", head_of(name).about)
        assert named is None or named[1] in {str(n_cells), {2: "Two"}.get(n_cells)}

    def test_preset_head_lists_the_parts_that_differ_from_the_paper(self, name: str) -> None:
        head = head_of(name)
        assert bool(head.paper) == (name not in WITHOUT_PAPER)
        assert replaced_parts(head, jobs_of(name)) == head.instead
        assert bool(head.paper) == bool(head.differs)


@pytest.mark.parametrize("name", sorted(set(NAMES) - WITHOUT_PAPER - {"financerag_ablation", "financerag_table1"}))
def test_preset_covers_all_that_its_paper_varies(name: str) -> None:
    assert missing_parts(head_of(name), jobs_of(name)) == {}


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("_free")])
def test_free_preset_follows_its_paper_without_a_key(name: str) -> None:
    own, of_paper = head_of(name), head_of(name.removesuffix("_free"))
    assert (own.paper, of_paper.instead) == (of_paper.paper, {})
    assert "OPENAI_API_KEY" not in own.needs
    assert all(job.axes["judge"] == "none" for job in jobs_of(name))


class TestPublishedTables:
    """The parts in heads equal the parts in the tables that ship with the analysis."""

    @pytest.mark.parametrize(("name", "table_name"), TABLES.items())
    def test_preset_cells_are_rows_of_the_published_table(self, name: str, table_name: str) -> None:
        table = published.read_table(table_name)
        cells = as_cells(jobs_of(name), table.info.paper.name)
        paired = pair(table, cells)
        differing = {difference.axis for each in paired.pairs for difference in each.differences}
        assert differing == set(head_of(name).instead) & {"embedder", "llm", "reranker"}
        if table.info.paper.name != "financerag":  # most of its expansions do not come with the data
            assert len(paired.pairs) == len(cells) == len(table.rows)

    @pytest.mark.parametrize("name", [name for name in TABLES if "_table" in name])
    def test_every_printed_metric_has_a_score_or_a_named_absence(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = published.read_table(TABLES[name])
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
        computed = scores_of(jobs_of(name)[0])
        missing = {metric for metric in table.metrics if table.info.paper.metrics[metric].published not in computed}
        free = {"bert_score", "quest_eval_precision", "quest_eval_recall"}
        assert missing == (free if name.endswith("_free") else set())
        assert not missing or {"metrics", "judge"} <= set(head_of(name).instead)


def as_cells(jobs: tuple[Job, ...], paper: str) -> list[CellResult]:
    return [CellResult(str(place), "OK", job.axes, (), job.config, {"name": paper}) for place, job in enumerate(jobs)]


def scores_of(job: Job) -> set[str]:
    """Return the names of all values that the metrics and the judge compute."""
    cell = CellBuilder().build(job.config)
    return {name for score in (*cell.metrics.scores.values(), *cell.judge.scores.values()) for name in score.names}


class TestPlan:
    def test_preset_plan_names_parts_that_replace_the_paper(self) -> None:
        lines = list(preset_lines(["+sweeps=crud_table3_free"], jobs_of("crud_table3_free")))
        assert lines[0] == "Preset crud_table3_free: CRUD-RAG's table 3 without a model: 4 cells."
        assert lines[1].strip() == (
            "not the paper's: embedder=lsa (paper: bge-base-zh), llm=extractive (paper: gpt-3.5-turbo), "
            "metrics=published (paper: crud_rag), judge=none (paper: crud_rag)"
        )
        assert [line.strip().partition(":")[0] for line in lines[2:]] == ["differs from the paper", "needs"]

    def test_preset_plan_names_the_drawn_part_of_the_data(self) -> None:
        jobs = [compose_job("+sweeps=crud_table5_free", "dataset.root=x", "dataset.limit=120")]
        lines = [line.strip() for line in preset_lines(["+sweeps=crud_table5_free"], jobs)]
        assert "only a part of the data: dataset.limit=120" in lines

    def test_preset_plan_compares_user_overrides_with_the_paper(self) -> None:
        jobs = [compose_job("+sweeps=crud_table4_free", "dataset.root=x", f"chunk.overlap={each}") for each in (0, 0.2)]
        (line,) = [line for line in preset_lines(["+sweeps=crud_table4_free"], jobs) if "not the paper's" in line]
        assert "chunk.overlap=0.2 (paper: 0,0.1,0.3,0.5,0.7)" in line

    def test_preset_plan_names_values_of_the_paper_without_a_cell(self) -> None:
        lines = list(preset_lines(["+sweeps=financerag_table1"], jobs_of("financerag_table1")))
        assert lines[1].strip() == (
            "in the paper and not here: expander=paraphrase,hypothetical_document refiner=summary"
        )

    @pytest.mark.parametrize("overrides", [["+sweeps=smoke"], ["+sweeps=mine"], ["retriever=bm25"]])
    def test_preset_without_a_paper_or_needs_prints_no_lines(self, overrides: list[str]) -> None:
        assert list(preset_lines(overrides, jobs_of("smoke"))) == []
