"""All notebooks as a reader runs them, one after the other: on a few questions of the demo, in one kernel."""

import ast
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import runner
from analysis.__main__ import main
from analysis.notebook_files import read_notebook
from analysis.notebooks import NOTEBOOKS, start
from components.errors import DataError
from runner.results import read_sweep
from tests.analysis import tiny_sweep
from tests.extras import skip_without
from tests.forked import run_forked

REPOSITORY = Path(__file__).resolve().parents[3]
PICTURE = "image/svg+xml"
FEW = ("dataset.limit=60", "run.workers=1", "tracking=none", "run.progress=false")
TIMEOUT_S = 200


def executed(folder: Path) -> dict[str, Any]:
    """Return the executed notebooks by name. They share a kernel, because its start takes longer than most of them, and
    each begins with an empty namespace.
    """
    from nbclient import NotebookClient
    from nbformat import v4

    notebooks = {name: read_notebook(name) for name in NOTEBOOKS}
    cells = [cell for own in notebooks.values() for cell in (v4.new_code_cell("%reset -f"), *own.cells)]
    together = v4.new_notebook(cells=cells)
    NotebookClient(together, timeout=TIMEOUT_S, resources={"metadata": {"path": str(folder)}}).execute()
    return notebooks


def outputs(notebook: Any) -> Iterator[dict[str, str]]:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield from (output.data for output in cell.outputs if "data" in output)


def test_notebooks_run_and_show_tables_and_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without("jupytext", "nbclient", "ipykernel", extra="notebooks")
    demo = ["-m", *start.DEMO, *FEW, "hydra.sweep.dir=results/notebooks-demo"]
    swept = run_forked("runner", demo, tmp_path, os.environ, TIMEOUT_S)
    assert swept.returncode == 0, swept.stderr
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    notebooks = executed(tmp_path)
    for name, notebook in notebooks.items():
        data = list(outputs(notebook))
        assert sum(PICTURE in each for each in data) >= 2 - (name == "published_table"), name
        assert any("text/html" in each for each in data), name  # a frame
        assert sum(cell.cell_type == "markdown" for cell in notebook.cells) >= 4, name
    assert [path.name for path in (tmp_path / "results").glob("*")] == ["notebooks-demo", "store"]


def test_notebook_runs_the_demo_sweep_if_no_sweep_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "RESULTS_DIR", tmp_path / "results")
    few = ("dataset=demo", *FEW[:2], "retriever=bm25", "chunk.size=64,128", "metrics=retrieval", "llm=none")
    monkeypatch.setattr(start, "DEMO", (*few, f"run.results_dir={tmp_path / 'results'}"))
    folder = start.demo_sweep()
    assert (folder.name, len(read_sweep(folder).cells)) == ("notebooks-demo", 2)
    started = read_sweep(folder).started
    assert read_sweep(start.demo_sweep()).started == started


def code_of(name: str, upto: str) -> str:
    """The notebook's code from its parameters to a line."""
    text = (Path(start.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return text[text.index("# %% tags=") : text.index(upto)]


@pytest.mark.parametrize("has_topics", [False, True])
def test_notebook_replaces_a_sweep_without_topics_by_the_demo(
    has_topics: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = ("overall", "topic/funds", "task/extractive") if has_topics else ("overall",)
    own = tiny_sweep.write(tmp_path / "own", [replace(cell, measured=groups) for cell in tiny_sweep.CELLS])
    demo = tiny_sweep.write(tmp_path / "demo")
    monkeypatch.setattr(start, "demo_sweep", lambda: demo)
    code = code_of("matrix_in_depth", "\nmatrix = ").replace('SWEEP = ""', f"SWEEP = {str(own)!r}")
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["sweep"].folder == (own if has_topics else demo)
    assert ("its questions lack topics or tasks" in capsys.readouterr().out) is not has_topics


DEMO_SHOWN = {
    "retrieval": ["published_table"],
    "one_axis": ["published_table"],
    "one_cell": list(NOTEBOOKS),
}
"""Sweeps without answers, and the notebooks that show the demo in some place."""


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of these sweeps, and of a demo over a few questions and four cells."""
    common = [*FEW, f"run.results_dir={tmp_path_factory.mktemp('notebooks')}"]
    own = ["dataset=demo_en", "metrics=retrieval", "llm=none", *common]
    demo = ["dataset=demo", "retriever=bm25,hybrid", "chunk.size=64,128", "metrics=published", *common]
    overrides = {
        "retrieval": [*own, "retriever=bm25,hybrid", "top_k=2,4"],
        "one_axis": [*own, "top_k=2,4"],
        "one_cell": own,
        "demo": demo,
    }
    return {name: runner.run(each).folder for name, each in overrides.items()}


def shown(name: str, monkeypatch: pytest.MonkeyPatch, **parameters: str) -> list[Any]:
    """Run the code of a notebook with these parameters, without a kernel, and return what it displays."""
    displayed: list[Any] = []
    monkeypatch.setattr(sys, "displayhook", displayed.append)
    text = (Path(start.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    for parameter, value in parameters.items():
        assert f'\n{parameter} = ""' in text
        text = text.replace(f'\n{parameter} = ""', f"\n{parameter} = {value!r}")
    names: dict[str, Any] = {}
    for cell in text.split("\n# %%")[1:]:
        kind, _, code = cell.partition("\n")
        if "[markdown]" not in kind:
            exec(compile(ast.Interactive(ast.parse(code).body), name, "single"), names)
    return [each for each in displayed if each is not None]


@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.parametrize("sweep", DEMO_SHOWN)
def test_notebook_runs_to_its_end_over_a_sweep_without_answers(
    sweep: str, name: str, sweeps: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_without("IPython", extra="notebooks")
    monkeypatch.setattr(start, "demo_sweep", lambda: sweeps["demo"])
    displayed = shown(name, monkeypatch, SWEEP=str(sweeps[sweep]))
    pictures = [each.data for each in displayed if hasattr(each, "_repr_svg_")]
    assert len(pictures) >= 2 - (name == "published_table")
    shows_demo = name in DEMO_SHOWN[sweep]
    assert ("the demo" in capsys.readouterr().out) is shows_demo
    assert shows_demo or not any("rouge_l" in picture for picture in pictures)
    if not shows_demo and name != "failure_forensics":  # the pictures of that one are about classes
        assert any("passage_coverage" in picture for picture in pictures)


@pytest.mark.parametrize("name", ["compare_cells", "matrix_in_depth", "power_and_cost"])
def test_notebook_shows_the_metric_named_at_its_top(
    name: str, sweeps: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without("IPython", extra="notebooks")
    displayed = shown(name, monkeypatch, SWEEP=str(sweeps["retrieval"]), METRIC="mrr")
    pictures = [each.data for each in displayed if hasattr(each, "_repr_svg_")]
    assert any("mrr" in picture for picture in pictures)
    assert not any("passage_coverage" in picture for picture in pictures)


def test_notebook_plots_first_the_axis_with_numbers(sweeps: dict[str, Path]) -> None:
    sweep, metric = start.open_sweep(str(sweeps["retrieval"]))
    assert metric == "passage_coverage"
    assert start.axes_to_plot(sweep) == ("top_k", "retriever")
    assert start.axes_to_plot(sweep, by="top_k") == ("retriever", "top_k")
    assert start.axes_to_plot(sweep, "retriever") == ("retriever", "top_k")
    assert start.axes_to_plot(start.open_sweep(str(sweeps["one_cell"]))[0]) == ("", "")


def test_notebook_replaces_a_sweep_without_a_metric_of_quality_by_the_demo(
    sweeps: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start, "demo_sweep", lambda: sweeps["demo"])
    no_value: dict[str, Any] = {"overall": {"rouge_l": {"value": None, "n": 0, "n_excluded": {}}}}
    cells = [replace(cell, facts={"metrics": no_value}) for cell in tiny_sweep.CELLS]
    sweep, metric = start.open_sweep(str(tiny_sweep.write(tmp_path / "own", cells)))
    assert (sweep.folder, metric) == (sweeps["demo"], "rouge_l")
    assert "no cell has a value of any metric. The notebook therefore shows the demo." in capsys.readouterr().out


def test_notebook_rejects_an_unknown_metric(sweeps: dict[str, Path]) -> None:
    with pytest.raises(DataError, match="overall has no metric 'rouge_l'"):
        start.open_sweep(str(sweeps["retrieval"]), "rouge_l")


def test_notebook_reports_that_it_picked_the_baseline_from_the_results() -> None:
    text = code_of("compare_cells", "# ## What to take of each axis")
    assert 'BASELINE = ""' in text
    assert "It was picked **from the results**" in text
    assert '"(the last cell, picked from the results)"' in text


class TestCommand:
    def test_command_writes_every_notebook_for_a_sweep(
        self, sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        skip_without("jupytext", extra="notebooks")
        assert main(["notebooks", str(sweep), "--output", str(tmp_path / "mine")]) == 0
        files = sorted((tmp_path / "mine").iterdir())
        assert [file.name for file in files] == [
            f"{place}_{name}.ipynb" for place, name in enumerate(NOTEBOOKS, start=1)
        ]
        assert all(str(file) in capsys.readouterr().out for file in files[:1])
        for file in files:
            notebook = json.loads(file.read_text(encoding="utf-8"))
            first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
            assert "".join(first["source"]).startswith(f"SWEEP = {str(sweep)!r}  #")
            assert notebook["cells"][0]["cell_type"] == "markdown"

    def test_notebooks_command_does_not_overwrite_files(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        skip_without("jupytext", extra="notebooks")
        own = tmp_path / "2_compare_cells.ipynb"
        own.write_text("mine")
        assert main(["notebooks", "--out", str(tmp_path)]) == 2
        assert f"{own}: already exists" in capsys.readouterr().err
        assert [file.name for file in tmp_path.iterdir()] == [own.name]

    def test_notebooks_command_rejects_a_missing_sweep(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["notebooks", str(tmp_path / "nowhere"), "--out", str(tmp_path / "mine")]) == 2
        assert "nowhere: no sweep here" in capsys.readouterr().err
