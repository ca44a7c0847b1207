import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner import track
from runner.output import mlflow_files, mlflow_rows
from runner.output.mlflow_metrics import logged_metrics, metric_name
from runner.output.mlflow_runs import Tracker
from runner.output.tracking import default_uri, wrong_file
from runner.results import STOPPED, CellResult, read_cells, read_sweep, write_cell
from runner.results import loaded_sweep as loaded
from runner.results.leaderboard_order import N_FIRST, headlines
from tests.runner.sweeping import QUIET, RANKING_ONLY, SMALL, only_sweep, read_unsealed, run_command

if TYPE_CHECKING:
    from mlflow.entities import Run

EXPERIMENT = "rag-grid"

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")  # MLflow's own queries


def client_of(uri: str) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(uri)


def runs_in(uri: str) -> "list[Run]":
    client = client_of(uri)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    return list(client.search_runs([experiment.experiment_id])) if experiment else []


def parents(runs: "list[Run]") -> "list[Run]":
    return [run for run in runs if run.data.tags["role"] == "sweep"]


def children(runs: "list[Run]") -> "dict[str, Run]":
    return {run.data.tags["cell_id"]: run for run in runs if run.data.tags["role"] == "cell"}


@pytest.fixture
def uri(tracked_run: Path) -> str:
    return f"sqlite:///{tracked_run / 'mlflow.db'}"


@pytest.fixture
def runs(uri: str) -> "list[Run]":
    return runs_in(uri)


@pytest.fixture
def cells(tracked_run: Path) -> dict[str, CellResult]:
    return {cell.cell_id: cell for cell in read_cells(only_sweep(tracked_run))}


@pytest.fixture
def bm25(cells: dict[str, CellResult]) -> CellResult:
    return next(cell for cell in cells.values() if (cell.axes["retriever"], cell.axes["top_k"]) == ("bm25", 2))


def artifacts(uri: str, run: "Run", folder: str | None = None) -> set[str]:
    return {Path(each.path).name for each in client_of(uri).list_artifacts(run.info.run_id, folder)}


@pytest.mark.parametrize(
    ("subset", "metric", "expected"),
    [
        ("overall", "ndcg@10", "overall/ndcg_at_10"),
        ("read/qa_1doc", "mrr", "subset/read/qa_1doc/mrr"),
        ("macro", "mrr", "subset/macro/mrr"),
        ("topic/funds", "mrr", "topic/funds/mrr"),
    ],
)
def test_subset_and_metric_become_an_mlflow_metric_name(subset: str, metric: str, expected: str) -> None:
    assert metric_name(subset, metric) == expected


def test_overall_mlflow_metrics_sort_before_the_others(runs: "list[Run]", bm25: CellResult) -> None:
    groups = list(dict.fromkeys(name.split("/")[0] for name in sorted(children(runs)[bm25.cell_id].data.metrics)))
    assert groups == ["overall", "run", "subset", "task", "topic"]


@pytest.mark.parametrize("n_characters", [200, 240, 600])
def test_mlflow_metric_names_are_valid_and_distinct(n_characters: int) -> None:
    from mlflow.utils.validation import _validate_metric_name

    topics = [f"topic/{'long_' * (n_characters // 5)}{end}" for end in ("one", "other")]
    names = {metric_name(topic, "ndcg@10") for topic in topics}
    assert len(names) == 2
    for name in names:
        _validate_metric_name(name)


def test_default_database_is_next_to_the_results_folder(tmp_path: Path) -> None:
    assert default_uri(tmp_path / "results") == f"sqlite:///{tmp_path}/mlflow.db"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a?b/mlflow.db", "than /a?b/mlflow.db, because of the ? in it"),
        ("/a/why?.db", "than /a/why?.db, because of the ? in it"),
        ("/a?b/mlflow.db?timeout=5", "because of the ? in it"),
        ("/my%20data/mlflow.db", "than /my%20data/mlflow.db, because of the %20 in it"),
        ("/a/mlflow.db?timeout=5", ""),
        ("/100%/a#b c&d/文.db", ""),
    ],
)
def test_database_paths_that_mlflow_misreads_are_rejected(path: str, expected: str) -> None:
    found = wrong_file(f"sqlite:///{path}")
    assert expected in found
    assert bool(found) is bool(expected)
    assert not wrong_file(f"https://host{path}")


def test_database_path_below_a_question_mark_folder_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not wrong_file("sqlite:///mlflow.db")
    folder = tmp_path / "a?b"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert f"{folder}/mlflow.db" in wrong_file("sqlite:///mlflow.db")


@pytest.mark.parametrize("name", ["a?b", "a%20b"])
def test_folder_name_invalid_for_mlflow_is_rejected_before_any_work(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    refused = run_command(folder, *SMALL, *RANKING_ONLY, "llm=none", "run.progress=false", "run.workers=1")
    assert refused.returncode == 2
    assert f"tracking.uri: MLflow would open a file other than {folder}/mlflow.db" in refused.stderr
    assert not list(folder.rglob("*.parquet"))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert run_command(folder, *SMALL, *RANKING_ONLY, "llm=none", *QUIET).returncode == 0
    logging = run_command(folder, "latest", module="runner.track")
    assert logging.returncode == 2
    assert f"--uri: MLflow would open a file other than {folder}/mlflow.db" in logging.stderr


def test_mlflow_tables_escape_formulas_and_tags(tmp_path: Path) -> None:
    path = tmp_path / "matrix_mrr.csv"
    path.write_text('topic,<script>x</script>,All\n"=cmd|x, y",0.5,\n', encoding="utf-8")
    table = mlflow_files.matrix_table(path)
    assert table["columns"] == ["topic", "&lt;script&gt;x&lt;/script&gt;", "All"]
    assert table["data"] == [["'=cmd|x, y", 0.5, None]]


class TestParent:
    def test_parent_run_describes_the_sweep(self, tracked_run: Path, runs: "list[Run]") -> None:
        (parent,) = parents(runs)
        sweep = read_sweep(only_sweep(tracked_run))
        assert parent.info.status == "FINISHED"
        assert parent.data.tags["sweep_id"] == sweep.sweep_id
        assert parent.data.tags["command"] == sweep.command
        assert parent.data.tags["n_cells"] == "3"
        assert parent.info.run_name == f"{sweep.sweep_id}: 3 cells, retriever x top_k"
        assert set(parent.data.params) == {"retriever", "top_k"}
        assert parent.data.params["retriever"] == "closed_book, bm25"

    def test_parent_holds_the_leaderboard_with_the_cell_to_take_first(
        self, tracked_run: Path, uri: str, runs: "list[Run]", cells: dict[str, CellResult]
    ) -> None:
        (parent,) = parents(runs)
        assert artifacts(uri, parent) == {"leaderboard.json", "leaderboard.svg", "sweep.json"}
        path = tracked_run / "mlartifacts" / parent.info.run_id / "artifacts" / "leaderboard.json"
        table = json.loads(path.read_text(encoding="utf-8"))
        assert table["columns"][:4] == ["cell", "status", "retriever", "top_k"]
        assert {row[0] for row in table["data"]} == set(cells)
        assert table["data"][0][0] == parent.data.tags["best_cell"]
        values = [row[4] for row in table["data"][1:]]
        assert values == sorted(values, key=lambda value: -1 if value is None else value, reverse=True)
        metric = table["columns"][4]
        assert table["columns"][5:7] == [f"{metric} low", f"{metric} high"]
        assert all(row[5] <= row[4] <= row[6] for row in table["data"] if row[5] is not None)
        best = cells[parent.data.tags["best_cell"]]
        assert parent.data.metrics[f"best/{metric.replace('@', '_at_')}"] == best.value(metric)

    def test_parent_run_names_the_cell_to_take_as_the_report_does(self, tracked_run: Path, runs: "list[Run]") -> None:
        (parent,) = parents(runs)
        best = loaded.load(only_sweep(tracked_run)).cell("best")
        assert parent.data.tags["best_cell"] == best.cell_id
        assert parent.data.tags["mlflow.note.content"].startswith(f"Take **bm25 top_k={best.axes['top_k']}**. ")

    def test_parent_run_links_to_a_view_of_its_cells(self, tracked_run: Path, uri: str, runs: "list[Run]") -> None:
        (parent,) = parents(runs)
        experiment = client_of(uri).get_experiment(parent.info.experiment_id)
        sweep_id = parent.data.tags["sweep_id"]
        view = json.loads(experiment.tags[f"mlflow.sharedViewState.{sweep_id}"])
        state = json.loads(view["state"])
        link = f"#/experiments/{experiment.experiment_id}/runs?viewStateShareKey={sweep_id}"
        assert link in (tracked_run / "output.txt").read_text(encoding="utf-8").replace("\n", "")
        assert link in parent.data.tags["mlflow.note.content"]
        found = client_of(uri).search_runs([experiment.experiment_id], state["searchFilter"])
        assert {run.info.run_id for run in found} == {run.info.run_id for run in children(runs).values()}
        assert state["selectedColumns"][:3] == [
            "params.`retriever`", "params.`top_k`", state["orderByKey"],
        ]  # fmt: skip
        for column in state["selectedColumns"]:
            group, name = column.rstrip("`").split(".`")
            assert all(
                name in getattr(run.data, group) or run.data.params["retriever"] == "closed_book" for run in found
            )
        assert [chart["type"] for chart in state["compareRunCharts"]][:2] == ["PARALLEL", "BAR"]


class TestChildren:
    def test_child_runs_are_one_per_cell_under_the_parent(
        self, runs: "list[Run]", cells: dict[str, CellResult]
    ) -> None:
        (parent,) = parents(runs)
        assert set(children(runs)) == set(cells)
        for child in children(runs).values():
            assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
            assert (child.info.status, child.data.tags["status"]) == ("FINISHED", "OK")
            assert len(child.data.tags["versions"]) == 12
            assert not any(name.startswith("version.") for name in child.data.tags)
            assert "git_commit" in child.data.tags

    def test_child_run_params_are_the_axes_in_use(self, runs: "list[Run]", bm25: CellResult) -> None:
        params = children(runs)[bm25.cell_id].data.params
        assert params == {name: str(value) for name, value in bm25.axes.items() if value is not None}
        assert {"retriever", "top_k", "chunk.size", "llm"} <= set(params)
        assert "embedder" not in params
        assert all(len(value) < 50 for value in params.values())

    def test_child_runs_are_named_by_their_varying_axes(self, runs: "list[Run]", bm25: CellResult) -> None:
        assert children(runs)[bm25.cell_id].info.run_name == "bm25 top_k=2"

    def test_child_runs_log_all_overall_metrics_and_headlines_of_subsets(
        self, runs: "list[Run]", bm25: CellResult
    ) -> None:
        first = headlines([bm25])[:N_FIRST]
        expected = {
            metric_name(subset, name): entry["value"]
            for subset, values in bm25.metrics.items()
            if not subset.startswith("matrix/")
            for name, entry in values.items()
            if entry["value"] is not None and (subset == "overall" or name in first)
        }
        logged = children(runs)[bm25.cell_id].data.metrics
        assert {"overall", "subset", "topic", "task"} <= {name.split("/")[0] for name in expected}
        assert {name: logged.get(name) for name in expected} == expected
        assert {name.split("/")[0] for name in logged.keys() - expected.keys()} == {"run"}
        assert not any("@" in name for name in logged)

    def test_child_runs_have_files_and_tables(self, uri: str, runs: "list[Run]", bm25: CellResult) -> None:
        child = children(runs)[bm25.cell_id]
        found = artifacts(uri, child)
        assert {"cell.json", "samples.parquet", "matrix_ndcg@10.csv", "matrix_ndcg@10.svg"} <= found
        assert {"matrix_ndcg@10.json", "metrics.json"} <= artifacts(uri, child, "tables")

    def test_child_run_table_holds_the_remaining_metrics(
        self, tracked_run: Path, runs: "list[Run]", bm25: CellResult
    ) -> None:
        folder = tracked_run / "mlartifacts" / children(runs)[bm25.cell_id].info.run_id / "artifacts"
        table = json.loads((folder / "tables" / "metrics.json").read_text(encoding="utf-8"))
        assert table["columns"] == ["subset", "metric", "value", "low", "high", "n"]
        found = {(row[0], row[1]): row[2] for row in table["data"]}
        subsets = [subset for subset in bm25.metrics if not subset.startswith("matrix/")]
        assert found == {(own, name): bm25.value(name, own) for own in subsets for name in bm25.metrics[own]}
        assert json.loads((folder / "versions.json").read_text(encoding="utf-8")) == bm25.versions

    def test_child_runs_log_every_metric_on_request(self, bm25: CellResult) -> None:
        logged = dict(logged_metrics(bm25, every=True))
        field = next(subset for subset in bm25.metrics if subset.startswith("matrix/"))
        assert metric_name(field, "mrr") in logged
        assert len(logged) > sum(map(len, bm25.metrics.values()))

    def test_child_run_tables_equal_the_csv_matrices(
        self, tracked_run: Path, runs: "list[Run]", bm25: CellResult
    ) -> None:
        folder = tracked_run / "mlartifacts" / children(runs)[bm25.cell_id].info.run_id / "artifacts"
        table = json.loads((folder / "tables" / "matrix_mrr.json").read_text(encoding="utf-8"))
        header, *rows = csv.reader((folder / "matrix_mrr.csv").read_text("utf-8").splitlines())
        assert table["columns"] == header
        assert set(header[1 : header.index("All")]) <= set(bm25.dataset["labels"].values())
        assert [row[0] for row in table["data"]] == [row[0] for row in rows]
        assert [["" if v is None else repr(v) for v in row[1:]] for row in table["data"]] == [row[1:] for row in rows]

    def test_child_runs_log_their_data_set(self, runs: "list[Run]", bm25: CellResult) -> None:
        (used,) = children(runs)[bm25.cell_id].inputs.dataset_inputs
        assert used.dataset.name == "demo"
        assert bm25.dataset["key"].startswith(used.dataset.digest)
        assert json.loads(used.dataset.profile)["n_samples"] == 12


class TestTwice:
    def test_logged_sweep_is_not_logged_again(self, tracked_run: Path, uri: str) -> None:
        before = {run.info.run_id for run in runs_in(uri)}
        assert track.main([str(only_sweep(tracked_run)), "--uri", uri]) == 0
        assert {run.info.run_id for run in runs_in(uri)} == before

    def test_every_metric_is_added_to_logged_runs_on_request(self, tracked_run: Path, tmp_path: Path) -> None:
        uri = f"sqlite:///{shutil.copy(tracked_run / 'mlflow.db', tmp_path)}"
        for arguments in (["--subsets", "all"], []):
            assert track.main([str(only_sweep(tracked_run)), "--uri", uri, *arguments]) == 0
            counts = [len(run.data.metrics) for run in children(runs_in(uri)).values()]
            assert max(counts) > 400, "the shorter form takes nothing back"

    @pytest.mark.usefixtures("shortcuts")
    @pytest.mark.parametrize("step", ["put_files", "_data_ids"])
    def test_partly_logged_cell_is_logged_again_completely(
        self, tracked_run: Path, tmp_path: Path, bm25: CellResult, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        uri = f"sqlite:///{shutil.copy(tracked_run / 'mlflow.db', tmp_path)}"
        sweep_dir = tmp_path / "results" / "another-sweep"
        shutil.copytree(only_sweep(tracked_run), sweep_dir)
        raw = json.loads(read_unsealed(sweep_dir / "sweep.json")) | {"sweep_id": sweep_dir.name}
        (sweep_dir / "sweep.json").write_text(json.dumps(raw), encoding="utf-8")
        tracker = Tracker(uri, EXPERIMENT, sweep_dir)
        with monkeypatch.context() as broken:
            broken.setattr(mlflow_rows, step, _connection_lost)
            with pytest.raises(OSError, match="gone"):
                tracker.log_cells([sweep_dir / bm25.cell_id])
        assert track.main([str(sweep_dir), "--uri", uri]) == 0
        (parent,) = [run for run in parents(runs_in(uri)) if run.data.tags["sweep_id"] == sweep_dir.name]
        of_the_cell = [
            run
            for run in runs_in(uri)
            if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id
            and run.data.tags["cell_id"] == bm25.cell_id
        ]
        assert [bool(run.data.metrics) for run in of_the_cell] == [True]


def test_cell_stopped_by_a_race_is_logged_as_killed(tracked_run: Path, tmp_path: Path) -> None:
    folder, uri = tmp_path / "results" / "raced", f"sqlite:///{tmp_path / 'mlflow.db'}"
    shutil.copytree(only_sweep(tracked_run), folder)
    *_, last = read_cells(folder)
    stopped = replace(last, status=STOPPED, reason="stopped", metrics={}, race={"n": 40, "behind": 0.1})
    write_cell(folder, stopped, {})
    assert track.main([str(folder), "--uri", uri]) == 0
    logged = children(runs_in(uri))[last.cell_id]
    tags = logged.data.tags
    assert (logged.info.status, tags["status"], tags["race.n"], tags["race.behind"]) == ("KILLED", STOPPED, "40", "0.1")
    assert not any(name.startswith("overall/") for name in logged.data.metrics)
    assert logged.info.run_name.endswith(" (stopped by the race)")


def _connection_lost(*_: object, **__: object) -> None:
    raise OSError("the server is gone")


class TestWithoutMlflow:
    def test_sweep_succeeds_without_mlflow_and_is_logged_later(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a-file").touch()
        uri = f"sqlite:///{tmp_path / 'a-file' / 'mlflow.db'}"
        done = run_command(tmp_path, *SMALL, *RANKING_ONLY, QUIET[1], f"tracking.uri={uri}")
        folder = only_sweep(tmp_path)
        assert done.returncode == 0, done.stderr
        assert "MLflow failed" in done.stdout
        assert f"python -m runner.track {folder.relative_to(tmp_path)}" in done.stdout
        assert [cell.status for cell in read_cells(folder)] == ["OK"]
        monkeypatch.chdir(tmp_path)
        assert track.main([str(folder.relative_to(tmp_path))]) == 0
        logged = runs_in(f"sqlite:///{tmp_path / 'mlflow.db'}")
        assert (len(parents(logged)), len(children(logged))) == (1, 1)

    def test_track_command_reports_a_database_it_cannot_open(
        self, tracked_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "a-file").touch()
        uri = f"sqlite:///{tmp_path / 'a-file' / 'mlflow.db'}"
        assert track.main([str(only_sweep(tracked_run)), "--uri", uri]) == 2
        told = capsys.readouterr().err
        assert "Traceback" not in told
        assert uri in told

    def test_track_command_rejects_a_folder_without_a_sweep(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert track.main([str(tmp_path)]) == 2
        assert f"{tmp_path}: no sweep here (no sweep.json)" in capsys.readouterr().err
