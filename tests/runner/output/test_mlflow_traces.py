"""Traces as they are read back from MLflow."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner import track
from runner.output.mlflow_runs import Tracker
from runner.output.mlflow_traces import TraceLog, trace_id
from runner.output.traces.trace_records import Feedback, SampleTrace, SpanRecord
from runner.results import read_sweep
from tests.conftest import MakeOnce
from tests.runner.sweeping import only_sweep, read_unsealed

N = 6
EXPERIMENT = "rag-grid"

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")  # MLflow's own queries


class Traced:
    """A copy of the tracked sweep, with the traces of some samples."""

    def __init__(self, folder: Path) -> None:
        from mlflow import MlflowClient

        self.sweep = only_sweep(folder)
        self.uri = f"sqlite:///{folder / 'mlflow.db'}"
        self.client = MlflowClient(self.uri)
        self.experiment_id = self.client.get_experiment_by_name(EXPERIMENT).experiment_id

    def log(self, *arguments: str) -> int:
        return track.main([str(self.sweep), "--uri", self.uri, *arguments])

    def parent(self) -> Any:
        query = f"tags.sweep_id = '{read_sweep(self.sweep).sweep_id}' and tags.role = 'sweep'"
        (found,) = self.client.search_runs([self.experiment_id], query)
        return found

    def by_run(self) -> dict[str, list[Any]]:
        """Return complete traces by the run that they name."""
        found: dict[str, list[Any]] = {}
        for trace in self.client.search_traces(locations=[self.experiment_id], max_results=500):
            found.setdefault(trace.info.trace_metadata["mlflow.sourceRun"], []).append(trace)
        return found


@pytest.fixture(scope="module")
def traced(tracked_run: Path, make_once: MakeOnce) -> Traced:
    def fill(folder: Path) -> None:
        shutil.copytree(tracked_run / "results", folder / "results")
        shutil.copy(tracked_run / "mlflow.db", folder)
        path = only_sweep(folder).rename(folder / "results" / "traced-sweep") / "sweep.json"
        raw = json.loads(read_unsealed(path)) | {"sweep_id": "traced-sweep"}
        path.write_text(json.dumps(raw), encoding="utf-8")  # the files of the other's runs stay as they are
        assert Traced(folder).log("--traces", str(N)) == 0

    return Traced(make_once("traced-run", fill))


def test_traced_cells_have_the_same_samples(traced: Traced) -> None:
    by_run = traced.by_run()
    assert len(by_run) == 3
    inputs = [sorted(json.dumps(t.data.spans[0].inputs, ensure_ascii=False) for t in own) for own in by_run.values()]
    assert len(inputs[0]) == len({*inputs[0]}) == N
    assert inputs[0] == inputs[1] == inputs[2]
    previews = [sorted(trace.info.request_preview for trace in own) for own in by_run.values()]
    assert previews[0] == previews[1] == previews[2]


def test_traces_are_linked_to_the_runs_of_their_cells(traced: Traced) -> None:
    for run_id, own in traced.by_run().items():
        linked = traced.client.search_traces(locations=[traced.experiment_id], run_id=run_id)
        assert {trace.info.trace_id for trace in linked} == {trace.info.trace_id for trace in own}
        assert traced.client.get_run(run_id).data.tags["role"] == "cell"


def test_trace_contains_the_steps_of_its_cell_with_their_passages(traced: Traced) -> None:
    for run_id, own in traced.by_run().items():
        params = traced.client.get_run(run_id).data.params
        for trace in own:
            names = [span.name for span in trace.data.spans]
            if params["retriever"] == "closed_book":
                assert names == ["sample", "generate"]
                continue
            assert names == ["sample", "query", "retrieve", "context", "generate"]
            _, _, retrieve, context, generate = trace.data.spans
            assert retrieve.span_type == "RETRIEVER"
            assert len(context.outputs) <= int(params["top_k"])
            assert [hit["metadata"]["rank"] for hit in retrieve.outputs] == list(range(1, len(retrieve.outputs) + 1))
            document_id = retrieve.outputs[0]["id"].rpartition("[")[0]
            assert document_id
            assert len(retrieve.outputs[0]["page_content"]) > 0
            assert "not stored" not in retrieve.outputs[0]["page_content"]
            assert generate.outputs == trace.data.spans[0].outputs


def test_trace_contains_expectations_and_scores(traced: Traced) -> None:
    for run_id, own in traced.by_run().items():
        if traced.client.get_run(run_id).data.params["retriever"] == "closed_book":
            continue
        for trace in own:
            by_name = {each.name: each for each in trace.info.assessments}
            assert len(by_name) == len(trace.info.assessments) >= 8
            assert by_name["expected_response"].expectation.value
            assert 0.0 <= by_name["ndcg_at_10"].feedback.value <= 1.0
            assert by_name["cause_of_failure"].feedback.value
            assert by_name["cause_of_failure"].rationale.startswith("evidence: ")
            assert by_name["ndcg_at_10"].source.source_type == "CODE"


def test_repeated_trace_logging_adds_no_traces(traced: Traced, capsys: pytest.CaptureFixture[str]) -> None:
    before = {trace.info.trace_id for own in traced.by_run().values() for trace in own}
    assert traced.log("--traces", str(N)) == 0
    assert f"{N} samples in each of 3 cells, none of them new" in capsys.readouterr().out
    assert {trace.info.trace_id for own in traced.by_run().values() for trace in own} == before


def test_parent_run_links_to_samples_side_by_side(traced: Traced) -> None:
    parent = traced.parent()
    page = parent.data.tags["samples_page"]
    assert page in parent.data.tags["mlflow.note.content"]
    best, other = (part.partition("=")[2] for part in page.partition("?")[2].split("&"))
    assert {best, other} <= set(traced.by_run())
    assert traced.client.get_run(best).data.tags["cell_id"] == parent.data.tags["best_cell"]
    assert traced.log() == 0  # nothing is logged again, and the link still points at the earlier traces
    assert traced.parent().data.tags["mlflow.note.content"] == parent.data.tags["mlflow.note.content"]


def test_report_is_added_and_later_replaced(traced: Traced) -> None:
    parent = traced.parent()
    artifacts = Path(parent.info.artifact_uri.removeprefix("file://"))
    assert not (artifacts / "report.html").exists()
    for content in ("first", "second"):
        (traced.sweep / "report.html").write_text(content, encoding="utf-8")
        assert traced.log() == 0
        assert (artifacts / "report.html").read_text(encoding="utf-8") == content
    note = traced.parent().data.tags["mlflow.note.content"]
    assert f"#/experiments/{traced.experiment_id}/runs/{parent.info.run_id}/artifacts/report.html)" in note


@pytest.mark.parametrize("argument", ["-1", "many", "1.5"])
def test_invalid_number_of_traces_is_rejected(
    traced: Traced, argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        traced.log(f"--traces={argument}")
    assert f"got '{argument}', expected a number of samples, e.g. 100, or all" in capsys.readouterr().err


HOSTILE = "<script>alert(1)</script> \u202egnp \x00 \udcff '; drop table runs; -- `x` | {{7*7}}"


def hostile_trace(sample_id: str) -> SampleTrace:
    # content.py made the text printable, so it contains no character that a database refuses.
    text = HOSTILE.replace("\x00", "\\x00").replace("\udcff", "\\udcff")
    return SampleTrace(
        sample_id=sample_id,
        name=text,
        inputs={"question": text, "id": text},
        answer=text * 100,
        error=text,
        spans=(SpanRecord("generate", "LLM", text, text, 0.5, {"state": "error"}, error=text),),
        expectations={"expected_response": text},
        feedback=(Feedback("grade", None, "unparsable", "a-judge", text), Feedback("f1", 0.25)),
        tags={"subset": text},
    )


def test_hostile_texts_are_verbatim_in_traces(traced: Traced) -> None:
    run_id = traced.parent().info.run_id
    log = TraceLog(traced.client, traced.experiment_id)
    log.write(run_id, [hostile_trace(HOSTILE)])
    assert log.list_existing(run_id) == {trace_id(run_id, HOSTILE)}
    (read,) = traced.by_run()[run_id]
    wanted = hostile_trace(HOSTILE)
    assert read.data.spans[0].inputs == wanted.inputs
    assert read.data.spans[1].outputs == wanted.answer[: len(wanted.inputs["question"])]
    assert read.info.state == "ERROR"
    grade = next(each for each in read.info.assessments if each.name == "grade")
    assert (grade.feedback.error.error_code, grade.source.source_id) == ("unparsable", "a-judge")
    log.remove(run_id)
    assert log.list_existing(run_id) == set()


def test_traces_of_a_lost_connection_are_removed(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = traced.parent().info.run_id
    log = TraceLog(traced.client, traced.experiment_id)
    with monkeypatch.context() as broken:
        broken.setattr(traced.client._tracing_client, "log_spans", _connection_lost)
        with pytest.raises(OSError, match="gone"):
            log.write(run_id, [hostile_trace("a")])
    assert log.list_existing(run_id) == set()
    assert run_id not in traced.by_run()


def _connection_lost(*_: object, **__: object) -> None:
    raise OSError("the server is gone")


def test_cell_logged_again_loses_its_traces(traced: Traced, tmp_path: Path) -> None:
    """The status of the cell changed, so its earlier run and the run's traces are removed."""
    folder = tmp_path / "run"
    shutil.copytree(traced.sweep.parent.parent, folder)
    own = Traced(folder)
    cell_id = own.parent().data.tags["best_cell"]
    path = own.sweep / cell_id / "cell.json"
    original = read_unsealed(path)
    path.write_text(original.replace('"status": "OK"', '"status": "FAILED"'), encoding="utf-8")
    before = own.by_run()
    Tracker(own.uri, EXPERIMENT, own.sweep).log_cells([own.sweep / cell_id])
    assert len(own.by_run()) == len(before) - 1


def test_sweep_without_a_ranked_cell_reports_that_it_has_no_traces(
    traced: Traced, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "failed-sweep"
    shutil.copytree(traced.sweep, sweep)
    raw = json.loads(read_unsealed(sweep / "sweep.json")) | {"sweep_id": sweep.name}
    (sweep / "sweep.json").write_text(json.dumps(raw), encoding="utf-8")
    for path in sweep.glob("*/cell.json"):
        content = read_unsealed(path).replace('"status": "OK"', '"status": "FAILED"')
        path.unlink()  # the file may be a hard link
        path.write_text(content, encoding="utf-8")
    before = traced.by_run()
    assert track.main([str(sweep), "--uri", traced.uri, "--traces", "all"]) == 0
    assert "samples:  none, because no cell has a result that ranks it" in capsys.readouterr().out
    assert set(traced.by_run()) == set(before)


def test_cell_that_ends_during_logging_has_no_traces(traced: Traced, tmp_path: Path) -> None:
    """MLflow logs the sweep during its run."""
    folder = tmp_path / "run"
    shutil.copytree(traced.sweep.parent.parent, folder)
    own = Traced(folder)
    best = own.parent().data.tags["best_cell"]
    path = own.sweep / "sweep.json"
    path.write_text(json.dumps(json.loads(read_unsealed(path)) | {"sweep_id": "running"}), encoding="utf-8")
    tracker = Tracker(own.uri, EXPERIMENT, own.sweep)
    tracker.log_cells([cell.parent for cell in own.sweep.glob("*/cell.json") if cell.parent.name != best])
    assert tracker.finish(N).traced.n_cells == len(traced.by_run()) - 1
    tracker.log_cells([own.sweep / best])
    assert tracker.finish(N).traced.n_cells == len(traced.by_run())
