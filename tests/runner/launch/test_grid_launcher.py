"""`python -m runner -m`: grids through our launcher and through Hydra's own."""

import re
from pathlib import Path

import pytest
from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf, open_dict

from runner.launch import grid_launcher
from runner.launch.axis_naming import convert_job
from runner.launch.composed_jobs import JobComposer
from runner.launch.hydra_startup import BASE_VERSION
from runner.launch.hydra_state import isolate_hydra
from runner.results import CellResult, SweepResult, read_cells, read_sweep
from tests.runner.sweeping import (
    QUIET,
    RANKING_ONLY,
    SMALL,
    compose_job,
    entries_by_kind,
    only_sweep,
    run_command,
    store_of,
    sweeps,
)

GRID = (*SMALL, *RANKING_ONLY, *QUIET)


@pytest.fixture
def sweep(grid_run: Path) -> SweepResult:
    return read_sweep(only_sweep(grid_run))


@pytest.fixture
def cells(grid_run: Path) -> list[CellResult]:
    return list(read_cells(only_sweep(grid_run)))


class TestGrid:
    def test_grid_is_one_sweep_of_distinct_experiments(self, sweep: SweepResult) -> None:
        assert (sweep.status, sweep.plan["n_requested"], sweep.plan["n_cells"]) == ("OK", 6, 5)
        assert {"retriever=closed_book", "top_k=2"} <= set(sweep.cells[0]["overrides"])
        (same,) = sweep.cells[0]["same_as"]
        assert {"retriever=closed_book", "top_k=4"} <= set(same)
        assert {"retriever=closed_book,bm25,dense", "top_k=2,4"} <= set(sweep.overrides)

    def test_grid_writes_every_cell(self, sweep: SweepResult, cells: list[CellResult]) -> None:
        assert [cell.cell_id for cell in cells] == [cell["cell_id"] for cell in sweep.cells]
        assert [(cell.axes["retriever"], cell.axes["top_k"]) for cell in cells] == [
            ("closed_book", None), ("bm25", 2), ("bm25", 4), ("dense", 2), ("dense", 4),
        ]  # fmt: skip

    def test_grid_computes_shared_stages_once(self, grid_run: Path) -> None:
        found = {kind: len(entries) for kind, entries in entries_by_kind(store_of(grid_run)).items()}
        assert (found["chunks"], found["block_terms"], found["vectors"], found["ranking_scores"]) == (1, 1, 1, 2)
        assert (found["context"], found["baseline_answers"], found["result"]) == (4, 5, 5)  # one is closed book

    def test_retrieval_metrics_of_a_grid_do_not_depend_on_top_k(self, cells: list[CellResult]) -> None:
        by_axes = {(cell.axes["retriever"], cell.axes["top_k"]): cell for cell in cells}
        assert by_axes["bm25", 2].value("ndcg@10") == by_axes["bm25", 4].value("ndcg@10")
        assert by_axes["bm25", 2].value("ndcg@10") != by_axes["dense", 2].value("ndcg@10")
        assert by_axes["bm25", 2].value("context_tokens") < by_axes["bm25", 4].value("context_tokens")  # type: ignore[operator]

    def test_every_grid_job_has_its_hydra_folder(self, grid_run: Path) -> None:
        folder = only_sweep(grid_run)
        assert (folder / "multirun.yaml").is_file()
        jobs = folder / "jobs"
        assert sorted(path.name for path in jobs.iterdir()) == ["0", "1", "2", "3", "4", "5"]
        assert {"retriever=bm25", "top_k=4"} <= set(OmegaConf.load(jobs / "3" / ".hydra" / "overrides.yaml"))
        assert OmegaConf.load(jobs / "3" / ".hydra" / "config.yaml").top_k == 4

    def test_repeated_grid_is_fully_cached(self, grid_run: Path, tmp_path: Path) -> None:
        done = run_command(
            tmp_path, "-m", *GRID, "retriever=bm25", "top_k=2,4", f"run.store_dir={grid_run / 'results' / 'store'}"
        )
        assert done.returncode == 0, done.stderr
        sweep = read_sweep(only_sweep(tmp_path))
        assert all(kind["n_unique"] == kind["n_cached"] for kind in sweep.plan["stages"].values())
        for cell in read_cells(only_sweep(tmp_path)):
            assert all(cell.reused.values())


def test_batches_after_a_failed_cell_are_run(tmp_path: Path) -> None:
    done = run_command(tmp_path, "-m", *GRID, "llm=scripted", "llm.error_on='？','§'", "hydra.sweeper.max_batch_size=1")
    assert done.returncode == 1, done.stderr
    assert sorted(cell.status for cell in read_cells(only_sweep(tmp_path))) == ["FAILED", "OK"]


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_hydra_launchers_run_one_sweep_with_equal_results(launcher: str, grid_run: Path, tmp_path: Path) -> None:
    if launcher == "joblib":
        pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    done = run_command(tmp_path, "-m", *GRID, "retriever=bm25,dense", "top_k=2", f"hydra/launcher={launcher}")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in sweeps(tmp_path)] == [only_sweep(tmp_path).name]
    sweep = read_sweep(only_sweep(tmp_path))
    assert sweep.status == "OK"
    assert (sweep.plan["n_cells"], sweep.plan["n_requested"]) == (2, 2)
    assert sweep.plan["stages"]["result"]["n_requested"] == 2
    assert "retriever=bm25,dense" in sweep.overrides
    expected = {cell.cell_id: cell.metrics for cell in read_cells(only_sweep(grid_run))}
    found = {cell.cell_id: cell.metrics for cell in read_cells(only_sweep(tmp_path))}
    assert len(found) == 2
    assert found == {cell_id: expected[cell_id] for cell_id in found}
    entries = entries_by_kind(store_of(tmp_path))
    assert (len(entries["data"]), len(entries["chunks"]), len(entries["queries"])) == (1, 1, 1)


def test_report_requires_the_grid_launcher(tmp_path: Path) -> None:
    done = run_command(tmp_path, "-m", *GRID, "top_k=2,3", "run.report=true", "hydra/launcher=basic")
    assert done.returncode == 2
    assert "run.report: needs hydra/launcher=grid" in done.stderr
    assert "python -m analysis report SWEEP" in done.stderr
    assert not (tmp_path / "results").exists()


def test_jobs_of_the_same_options_are_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grid_launcher.register()
    with initialize_config_module("conf", **BASE_VERSION):
        loader = GlobalHydra.instance().config_loader()
        master = loader.load_configuration("config", overrides=["top_k=2,4"], run_mode=RunMode.MULTIRUN)
        composer = JobComposer(loader, master)
        composed: list[list[str]] = []
        load = loader.load_sweep_config
        monkeypatch.setattr(loader, "load_sweep_config", lambda *of: composed.append(of[1]) or load(*of))
        jobs = [
            composer.compose([f"retriever={retriever}", f"chunk.size={size}", f"top_k={top_k}"], 0).job
            for retriever in ("bm25", "dense")
            for size in (64, 128)
            for top_k in (2, 4)
        ]
    assert composed == [["retriever=bm25"], ["retriever=dense"]]
    assert len({(job.config["chunk"]["size"], job.config["top_k"], job.axes["retriever"]) for job in jobs}) == 8


@pytest.mark.parametrize(
    "overrides",
    [
        ["retriever=bm25", "chunk.size=64", "top_k=3"],
        ["retriever=hybrid", "retriever.fusion.weights=[0.2,1.0]", "llm=scripted", "llm.reply='a, b'"],
        [
            "retriever=bm25",
            "tokenizer.hmm=true",
            "embedder.tokenizer=${tokenizer}",
            "tokenizer=jieba",
        ],
        ["+sweeps=smoke", "dataset.limit=7", "~metrics.scores.em", "+metrics.scores.again={_target_: x}"],
        ["retriever=hybrid_rerank", "tokenizer=bigrams", "run.results_dir=elsewhere"],
        ["dataset.max_documents=12", "~dataset.max_documents"],
    ],
)
def test_shared_composition_equals_hydra(overrides: list[str]) -> None:
    grid_launcher.register()
    with initialize_config_module("conf", **BASE_VERSION):
        loader = GlobalHydra.instance().config_loader()
        master = loader.load_configuration("config", overrides=[], run_mode=RunMode.MULTIRUN)
        composer = JobComposer(loader, master)
        others = (
            "chunk.overlap=0.3",
            "top_k=9",
            "retriever.sparse_index.k1=2.0",
            "dataset.limit=null",
            "metrics.scores.trec.measures=[mrr]",
        )
        composer.compose([*overrides, *others], 6)
        shared = composer.compose(overrides, 7)
        alone = loader.load_sweep_config(master, overrides)
        assert shared.job == convert_job(alone)
    with open_dict(alone):
        del alone["hydra"]
    assert shared.config == OmegaConf.to_container(alone)
    assert shared.folder == Path("jobs/7/.hydra")


def test_sweep_without_option_axes_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grid_launcher.register()
    fixed = ["retriever=hybrid_rerank", "tokenizer=bigrams", "~metrics.scores.em", "dataset.limit=7"]
    with initialize_config_module("conf", **BASE_VERSION):
        loader = GlobalHydra.instance().config_loader()
        axes = [*fixed, "chunk.size=64,128", "run.results_dir=elsewhere", "top_k=2,4"]
        master = loader.load_configuration("config", overrides=axes, run_mode=RunMode.MULTIRUN)
        before = OmegaConf.to_yaml(master)
        overrides = [*fixed, "chunk.size=128", "run.results_dir=elsewhere", "top_k=2"]
        alone = loader.load_sweep_config(master, overrides)
        monkeypatch.setattr(loader, "load_sweep_config", None)
        composed = JobComposer(loader, master).compose(overrides, 7)
        assert composed.job == convert_job(alone)
    with open_dict(alone):
        del alone["hydra"]
    assert composed.config == OmegaConf.to_container(alone)
    assert composed.folder == Path("jobs/7/.hydra")
    assert OmegaConf.to_yaml(master) == before


def test_jobs_share_configuration_parts_of_equal_values() -> None:
    grid_launcher.register()
    with initialize_config_module("conf", **BASE_VERSION):
        loader = GlobalHydra.instance().config_loader()
        master = loader.load_configuration("config", overrides=[], run_mode=RunMode.MULTIRUN)
        composer = JobComposer(loader, master)
        options = ["tokenizer=jieba", "embedder=lsa", "retriever=hybrid"]
        without, with_hmm = (
            composer.compose([*options, f"tokenizer.hmm={hmm}"], 0).job.config for hmm in ("false", "true")
        )
    assert without["dataset"] is with_hmm["dataset"]
    for hmm, config in ((False, without), (True, with_hmm)):
        assert config["llm"]["tokenizer"]["hmm"] is hmm
        assert config["retriever"]["embedder"]["tokenizer"]["hmm"] is hmm, "by an interpolation of an interpolation"


def composed_sweep(*overrides: str, jobs: list[list[str]]) -> list[tuple[str, ...]]:
    """Return the overrides of each job that apply to it, after the sweep itself was composed from `overrides`."""
    grid_launcher.register()
    with isolate_hydra() as hydra:
        master = hydra.config_loader.load_configuration("config", overrides=[*overrides], run_mode=RunMode.MULTIRUN)
        assert list(master.hydra.overrides.task) == list(overrides), "as typed"
        return [job.overrides for job in JobComposer(hydra.config_loader, master).compose_sweep(jobs)]


class TestFieldsOfSomeOptions:
    """Fields and options at a place that only some options of a swept group have."""

    def test_swept_field_applies_only_to_options_with_the_field(self) -> None:
        jobs = [[f"reranker={name}", f"reranker.depth={depth}"] for name in ("none", "lexical") for depth in (5, 9)]
        applied = composed_sweep("reranker=none,lexical", "reranker.depth=5,9", jobs=jobs)
        assert applied == [("reranker=none",), ("reranker=none",), tuple(jobs[2]), tuple(jobs[3])]

    def test_single_value_applies_only_to_options_with_the_field(self) -> None:
        jobs = [[f"chunk={name}", "chunk.size=64", "top_k=3"] for name in ("whole", "sentence")]
        applied = composed_sweep("chunk=whole,sentence", "chunk.size=64", "top_k=3", jobs=jobs)
        assert applied == [("chunk=whole", "top_k=3"), tuple(jobs[1])]

    def test_fields_of_a_placed_option_apply_only_with_the_option(self) -> None:
        fields = ["llm@reranker.llm=scripted", "reranker.llm.reply=x"]
        jobs = [[f"reranker={name}", *fields] for name in ("none", "llm_pointwise")]
        applied = composed_sweep("reranker=none,llm_pointwise", *fields, jobs=jobs)
        assert applied == [("reranker=none",), tuple(jobs[1])]

    def test_field_applies_through_an_option_that_another_brings(self) -> None:
        jobs = [[f"retriever={name}", "reranker.depth=5"] for name in ("hybrid", "hybrid_rerank")]
        applied = composed_sweep("retriever=hybrid,hybrid_rerank", "reranker.depth=5", jobs=jobs)
        assert applied == [("retriever=hybrid",), tuple(jobs[1])]

    def test_field_of_a_group_with_one_option_must_exist(self) -> None:
        with pytest.raises(HydraException, match=r"reranker\.depth"):
            composed_sweep("reranker=none", "reranker.depth=5,9", jobs=[["reranker=none", "reranker.depth=5"]])

    def test_values_of_the_wrong_type_are_errors_where_the_field_exists(self, tmp_path: Path) -> None:
        done = run_command(tmp_path, "-m", *GRID, "reranker=none,lexical", "reranker.depth=deep", "run.plan_only=true")
        assert done.returncode == 2
        assert "reranker.depth: got 'deep' (str), expected a whole number" in done.stderr

    def test_plan_names_the_cells_to_which_a_field_applies(self, tmp_path: Path) -> None:
        swept = ("reranker=none,lexical", "reranker.depth=5,9", "retriever=bm25")
        done = run_command(tmp_path, "-m", *GRID, *swept, "run.plan_only=true")
        assert done.returncode == 0, done.stderr
        assert "Plan: 3 cells (1 duplicate combination left out)" in done.stdout
        assert "reranker.depth applies only to reranker=lexical: 2 of 3 cells" in done.stdout

    def test_hydra_launchers_reject_fields_of_only_some_options(self, tmp_path: Path) -> None:
        swept = ("reranker=none,lexical", "reranker.depth=5", "hydra/launcher=basic")
        done = run_command(tmp_path, "-m", *GRID, *swept)
        assert done.returncode == 2
        assert done.stderr == "reranker.depth=5: applies only to some cells, which needs hydra/launcher=grid\n"

    def test_empty_value_applies_only_to_options_with_the_field(self) -> None:
        jobs = [[f"llm={name}", "llm.api_key_env=''"] for name in ("extractive", "openai")]
        applied = composed_sweep("llm=extractive,openai", "llm.api_key_env=", jobs=jobs)
        assert applied == [("llm=extractive",), tuple(jobs[1])]

    @pytest.mark.parametrize("search", [(), ("search=random",)], ids=["grid", "search"])
    def test_unknown_placed_option_is_rejected(self, tmp_path: Path, search: tuple[str, ...]) -> None:
        swept = ("retriever=bm25", "reranker=none,cascade", "reranker@reranker.steps.precise=lexical,lexicall")
        done = run_command(tmp_path, "-m", *GRID, *swept, *search, "run.plan_only=true")
        assert done.returncode == 2
        assert "reranker: got 'lexicall'; did you mean lexical?" in done.stderr

    def test_search_checks_all_values_before_running(self, tmp_path: Path) -> None:
        swept = ("search=random", "retriever=bm25", "reranker=none,lexical", "reranker.depth=5,deep")
        done = run_command(tmp_path, "-m", *GRID, *swept, "run.plan_only=true")
        assert done.returncode == 2
        assert "reranker.depth: got 'deep' (str), expected a whole number" in done.stderr

    def test_search_plan_bounds_requests_by_the_most_expensive_option(self, tmp_path: Path) -> None:
        swept = ("reranker=none,llm_pointwise", "llm@reranker.llm=rehearsal", "reranker.depth=interval(2,9)")
        done = run_command(
            tmp_path, "-m", *GRID, "search=random", "search.n_cells=2", "retriever=bm25", *swept, "run.plan_only=true"
        )
        assert done.returncode == 0, done.stderr
        n_samples = int(re.search(r"(\d+) samples", done.stdout)[1])
        assert f"at most {2 * 9 * n_samples:,} requests for reranking" in done.stdout

    def test_search_proposes_values_only_for_options_with_the_field(self, tmp_path: Path) -> None:
        searched = ("search=random", "search.n_cells=6", "reranker=none,lexical", "reranker.depth=interval(5,9)")
        done = run_command(tmp_path, "-m", *GRID, "retriever=bm25", *searched)
        assert done.returncode == 0, done.stderr
        cells = list(read_cells(only_sweep(tmp_path)))
        assert len(cells) == 6
        assert sorted(str(cell.axes.get("reranker.depth")) for cell in cells) == ["5", "6", "7", "8", "9", "None"]


def test_plan_only_creates_no_sweep_folder(tmp_path: Path) -> None:
    done = run_command(tmp_path, "-m", *GRID, "top_k=2,4,6", "run.plan_only=true")
    assert done.returncode == 0, done.stderr
    assert "Plan: 3 cells" in done.stdout
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["store"], (
        "no folder of a sweep that was not run"
    )
    assert set(entries_by_kind(store_of(tmp_path))) == {"data", "partition"}


def test_all_launchers_show_one_plan_of_the_whole_sweep(tmp_path: Path) -> None:
    """A single cell has no other cell to differ from."""
    done = run_command(tmp_path, "-m", *GRID, "chunk.size=64,128", "run.plan_only=true", "hydra/launcher=basic")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Plan: 2 cells") == done.stdout.count("(2 cells") == 1
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["store"]


def test_preset_is_planned_as_a_sweep(tmp_path: Path) -> None:
    done = run_command(tmp_path, "-m", "+sweeps=smoke", *QUIET, "run.plan_only=true")
    assert done.returncode == 0, done.stderr
    assert "Plan: 2 cells, no request to a language model" in done.stdout


class TestSweeper:
    """`hydra.sweeper.coupled` and `hydra.sweeper.one_at_a_time`, from the command line and from a preset."""

    COUPLED = ("chunk.size=64,128,256", "top_k=8,4,2", "hydra.sweeper.coupled=[[chunk.size,top_k]]")

    def test_coupled_axes_of_a_sweep_run_together(self, tmp_path: Path) -> None:
        done = run_command(tmp_path, "-m", *GRID, *self.COUPLED)
        assert done.returncode == 0, done.stderr
        cells = list(read_cells(only_sweep(tmp_path)))
        assert [(cell.axes["chunk.size"], cell.axes["top_k"]) for cell in cells] == [(64, 8), (128, 4), (256, 2)]
        assert read_sweep(only_sweep(tmp_path)).plan["n_requested"] == 3

    def test_one_at_a_time_plans_the_base_and_single_changes(self, tmp_path: Path) -> None:
        axes = ("chunk.size=128,64,256", "retriever=bm25,hybrid", "hydra.sweeper.one_at_a_time=true")
        done = run_command(tmp_path, "-m", *GRID, *axes, "run.plan_only=true")
        assert done.returncode == 0, done.stderr
        assert "Plan: 4 cells" in done.stdout
        assert "(any two of 4 cells, 80% power, assumed spread)" in done.stdout

    def test_hydra_launcher_receives_the_coupled_jobs(self, tmp_path: Path) -> None:
        done = run_command(tmp_path, "-m", *GRID, *self.COUPLED, "hydra/launcher=basic")
        assert done.returncode == 0, done.stderr
        assert read_sweep(only_sweep(tmp_path)).plan["n_requested"] == 3

    @pytest.mark.parametrize(
        ("preset", "n_cells"), [("crud_table3_free", 4), ("crud_table5_free", 4), ("crud_components_free", 15)]
    )
    def test_preset_plans_the_expected_number_of_cells(self, preset: str, n_cells: int, tmp_path: Path) -> None:
        """Runs on the bundled benchmark instead of CRUD-RAG."""
        data = ("dataset=demo", "dataset.limit=12", "embedder=hashing", *RANKING_ONLY, *QUIET)
        done = run_command(tmp_path, "-m", f"+sweeps={preset}", *data, "run.plan_only=true")
        assert done.returncode == 0, done.stderr
        assert f"Plan: {n_cells} cells" in done.stdout

    @pytest.mark.parametrize(
        ("problem", "message"),
        [
            ("hydra.sweeper.coupled=[[chunk.size,top_k]]", "chunk.size has 3 values, top_k has 2 values"),
            ("hydra.sweeper.coupled=[chunk.size,top_k]", "hydra.sweeper.coupled"),
            ("hydra.sweeper.one_at_a_time=flase", "'flase' is not a valid bool"),
        ],
    )
    def test_invalid_sweeper_setting_is_one_message(self, problem: str, message: str, tmp_path: Path) -> None:
        done = run_command(tmp_path, "-m", *GRID, "chunk.size=64,128,256", "top_k=2,4", problem)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
        assert sweeps(tmp_path) == []


class TestAxes:
    def test_axes_contain_group_options_and_usual_numbers(self) -> None:
        axes = compose_job("retriever=bm25", "chunk=token", "chunk.size=64").axes
        assert (axes["retriever"], axes["chunk"], axes["llm"], axes["dataset"]) == (
            "bm25",
            "token",
            "extractive",
            "demo",
        )
        assert (axes["chunk.size"], axes["chunk.overlap"], axes["chunk.unit"], axes["top_k"]) == (64, 0.0, "token", 5)

    def test_axes_include_every_override(self) -> None:
        assert compose_job("retriever.fusion.k=10").axes["retriever.fusion.k"] == 10

    def test_axes_name_an_option_by_its_target_place(self) -> None:
        axes = compose_job("judge=omnieval", "llm@judge.llm=scripted").axes
        assert (axes["judge"], axes["judge.llm"], axes["llm"]) == ("omnieval", "scripted", "extractive")

    def test_axes_leave_out_run_settings(self) -> None:
        axes = compose_job("run.workers=2", "tracking=none", "experiment.name=x").axes
        assert not any(name.startswith(("run", "tracking", "experiment")) for name in axes)

    def test_axes_name_every_group_by_its_option(self) -> None:
        axes = compose_job("metrics=retrieval", "retriever=hybrid_rerank").axes
        assert (axes["metrics"], axes["reranker"]) == ("retrieval", "lexical")
        assert compose_job().axes["metrics"] == "default"

    def test_named_reranker_overrides_the_reranker_of_hybrid_rerank(self) -> None:
        assert compose_job("retriever=hybrid_rerank", "reranker=none").axes["reranker"] == "none"
