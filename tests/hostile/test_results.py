"""Results from strangers: every command reads them, and none imports the code that they name."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import analysis
import runner.export
import runner.export_rankings
import runner.track
from analysis.__main__ import main
from components.errors import ConfigError, DataError
from runner.engine.plugins import trusted_packages
from runner.labels.agreement.labelled_sweep import compare_with_labels
from runner.results import combiner, depends_on_prompt
from runner.results.loaded_sweep import load
from tests.conftest import MakeOnce
from tests.hostile.planting import Planted
from tests.runner.sweeping import FEW_METRICS, QUIET, SMALL, environment, only_sweep, read_unsealed, run_command

NAME = "given_package"
METRICS = [word for word in FEW_METRICS if "bleu" not in word]


@pytest.fixture(scope="session")
def folder(make_once: MakeOnce) -> Path:
    """A sweep with a metric of a package in `planted`, and another whose cells name the package everywhere."""

    def fill(folder: Path) -> None:
        planted = Planted(folder / "planted", NAME)
        planted.plant()
        mine = ("run.plugins=[given_package]", f"+metrics.scores.doubled._target_={NAME}.Doubled")
        done = run_command(planted.folder, "-m", *SMALL, *METRICS, *QUIET, "top_k=2,4", *mine)
        assert done.returncode == 0, done.stderr
        only_sweep(planted.folder).rename(folder / "sweep")
        planted.forget()
        copy_poisoned(folder / "sweep", folder / "poisoned")

    return make_once("given-results", fill)


def copy_poisoned(sweep: Path, copy: Path) -> None:
    for path in sweep.rglob("*"):
        if path.is_file():
            (copy / path.relative_to(sweep)).parent.mkdir(parents=True, exist_ok=True)
            (copy / path.relative_to(sweep)).write_bytes(path.read_bytes())
    for path in copy.glob("*/cell.json"):
        cell = json.loads(read_unsealed(path))
        cell["config"] = poisoned(cell["config"])
        cell["config"]["run"]["plugins"] = [NAME, "os"]
        del cell["ranking_metrics"]  # results of earlier versions lack it
        path.write_text(json.dumps(cell), encoding="utf-8")


def poisoned(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: f"{NAME}.run" if name == "_target_" else poisoned(value) for name, value in node.items()}
    return [poisoned(value) for value in node] if isinstance(node, list) else node


@pytest.fixture
def planted_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Planted]:
    planted = Planted(folder / "planted", NAME)
    monkeypatch.syspath_prepend(planted.folder)
    yield planted
    assert not planted.has_run


COMMANDS = {
    "baseline": ("retriever=bm25,top_k=2", "--metric", "rouge_l", "--out", "OUT/baseline.json"),
    "gate": ("retriever=bm25,top_k=2", "--baseline", "OUT/baseline.json"),
    "candidates": ("--metric", "rouge_l"),
    "compare": ("--metric", "rouge_l"),
    "effects": ("--metric", "rouge_l"),
    "pareto": ("--metric", "rouge_l"),
    "plot": ("--metric", "rouge_l", "--axis", "top_k"),
    "repeats": ("--metric", "rouge_l"),
    "report": ("--out", "OUT"),
    "samples": ("best",),
    "table": (),
    "watch": ("--once",),
}


@pytest.mark.parametrize("metric", ["rouge_l", "bleu", "doubled", "ndcg@10"])
@pytest.mark.parametrize("which", ["sweep", "poisoned"])
@pytest.mark.parametrize("command", COMMANDS)
def test_analysis_commands_import_no_code_from_results(
    command: str, which: str, metric: str, folder: Path, planted_results: Planted, tmp_path: Path
) -> None:
    options = [word.replace("OUT", str(tmp_path)).replace("rouge_l", metric) for word in COMMANDS[command]]
    place = ["crud_rag_3", str(folder / which)] if command == "table" else [str(folder / which)]
    if command == "gate":
        baseline = ["retriever=bm25,top_k=2", "--metric", metric, "--out", str(tmp_path / "baseline.json")]
        assert main(["baseline", str(folder / "sweep"), *baseline]) in (0, 2)
    assert main([command, *place, *options]) in (0, 2)


def test_hostile_results_are_tested_with_every_analysis_command() -> None:
    from analysis.__main__ import COMMANDS as ALL

    assert {*COMMANDS, "notebooks", "testset"} == set(ALL)


@pytest.mark.parametrize("is_dangling", [False, True])
@pytest.mark.parametrize("name", ["report.html", "report.md", "report.json", "plot_overall_rouge_l_top_k.svg"])
def test_report_and_plot_do_not_write_through_a_link(
    name: str, is_dangling: bool, folder: Path, planted_results: Planted, tmp_path: Path
) -> None:
    sweep, own = shutil.copytree(folder / "sweep", tmp_path / "sweep"), tmp_path / "own.txt"
    if not is_dangling:
        own.write_text("mine", encoding="utf-8")
    (sweep / name).unlink(missing_ok=True)
    (sweep / name).symlink_to("../own.txt")
    options = () if name.startswith("report") else ("--metric", "rouge_l", "--axis", "top_k")
    assert main([name.partition("_")[0].partition(".")[0], str(sweep), *options]) == 0
    assert (sweep / name).is_file()
    assert not (sweep / name).is_symlink()
    assert not own.exists() if is_dangling else own.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("metric", ["rouge_l", "bleu", "ndcg@10"])
def test_built_in_metrics_of_results_need_no_plugin_option(
    metric: str, folder: Path, planted_results: Planted, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(folder / "sweep"), "--metric", metric]) == 0
    assert capsys.readouterr().err == ""


def test_results_without_ranking_metrics_are_read(folder: Path, planted_results: Planted, tmp_path: Path) -> None:
    for cell in load(folder / "sweep").cells:
        assert cell.ranking_metrics is not None
        assert "ndcg@10" in cell.ranking_metrics
        assert [depends_on_prompt(cell, metric) for metric in ("ndcg@10", "rouge_l", "doubled")] == [False, True, True]
    for cell in load(folder / "poisoned").cells:
        assert cell.ranking_metrics is None
        assert depends_on_prompt(cell, "ndcg@10"), "nothing is known of it"


def test_custom_metric_is_rejected_with_the_command_to_allow_it(folder: Path, planted_results: Planted) -> None:
    command = [sys.executable, "-m", "analysis", "compare", str(folder / "sweep"), "--metric", "doubled"]
    done = subprocess.run(
        command, cwd=planted_results.folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    wanted = f"python -m analysis compare {folder / 'sweep'} --metric doubled --plugins given_package, or set "
    assert f"{wanted}RAG_GRID_PLUGINS=given_package" in " ".join(done.stderr.split())


@pytest.mark.parametrize("by", ["option", "environment", "python"])
def test_custom_metric_is_read_after_its_package_is_allowed(by: str, folder: Path, tmp_path: Path) -> None:
    planted = Planted(tmp_path / "planted", NAME)
    planted.plant()
    sweep = str(folder / "sweep")
    command = ["-m", "analysis", "compare", sweep, "--metric", "doubled"]
    if by == "option":
        command += ["--plugins", NAME]
    if by == "python":
        text = "import analysis; print(analysis.load({!r}, plugins=[{!r}]).compare('doubled'))"
        command = ["-c", text.format(sweep, NAME)]
    variables = {**environment(), **({"RAG_GRID_PLUGINS": NAME} if by == "environment" else {})}
    done = subprocess.run(
        [sys.executable, *command], cwd=planted.folder, env=variables, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert planted.mark.exists(), "the reader named it"


@pytest.mark.parametrize("which", ["sweep", "poisoned"])
def test_python_api_imports_no_code_from_results(which: str, folder: Path, planted_results: Planted) -> None:
    sweep = analysis.load(folder / which)
    assert len(sweep.cells) == 2
    with pytest.raises(DataError, match=r"code that results name is not imported.*given_package"):
        combiner(load(folder / which).cells[0], "doubled")


@pytest.mark.parametrize("plugins", ["given_package", ["not a name"], ["a;b"]])
def test_plugins_must_be_a_list_of_package_names(plugins: Any, folder: Path, planted_results: Planted) -> None:
    with pytest.raises(ConfigError, match=r"got '.*', expected"):
        analysis.load(folder / "sweep", plugins=plugins)


def test_export_imports_no_code_from_results(folder: Path, planted_results: Planted, tmp_path: Path) -> None:
    store = folder / "planted" / "results" / "store"
    arguments = [str(folder / "poisoned"), "best:rouge_l", "--out", str(tmp_path / "out"), "--store-dir", str(store)]
    assert runner.export.main(arguments) == 2
    assert not (tmp_path / "out").exists()


def test_export_of_untrusted_results_explains_how_to_trust(
    folder: Path, planted_results: Planted, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(folder / "poisoned"), "best:rouge_l", "--out", "nowhere"]
    assert runner.export.main(arguments) == 2
    said = capsys.readouterr().err
    assert "names given_package.run; code that results name is not imported" in said
    assert "RAG_GRID_PLUGINS=given_package" in said


def test_rankings_export_imports_no_code_from_results(folder: Path, planted_results: Planted, tmp_path: Path) -> None:
    arguments = [str(folder / "poisoned"), "--cell", "top_k=2", "--format", "trec", "--out", str(tmp_path / "run")]
    assert runner.export_rankings.main(arguments) == 0


def test_custom_judge_of_a_sweep_is_not_instantiated(folder: Path, planted_results: Planted, tmp_path: Path) -> None:
    grader: Any = SimpleNamespace(name="rouge_l", reads_answers=True, grades=(0, 1))
    shutil.copytree(folder / "poisoned", tmp_path / "judged")
    for path in (tmp_path / "judged").glob("*/cell.json"):
        cell = json.loads(read_unsealed(path))
        cell["config"]["judge"] = {"llm": {"_target_": f"{NAME}.run"}, "scores": {}}
        path.write_text(json.dumps(cell), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cell .* judge\.llm\._target_ names given_package\.run"):
        compare_with_labels(tmp_path / "judged", {"rouge_l": grader}, [])


def test_tracking_imports_no_code_from_results(folder: Path, planted_results: Planted, tmp_path: Path) -> None:
    code = runner.track.main([str(folder / "poisoned"), "--uri", f"sqlite:///{tmp_path / 'mlflow.db'}"])
    assert code == 0


def test_plugins_variable_of_the_environment_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted_packages, "_named", {"mine": None})
    monkeypatch.setenv("RAG_GRID_PLUGINS", "one, two,,mine")
    assert trusted_packages.list_trusted() == ("mine", "one", "two")
    assert trusted_packages.select_trusted(["mine.part", "minestrone", "two"]) == ("mine.part", "two")
