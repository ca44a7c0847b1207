"""Results come from the code that a sweep loaded, whichever file of a user's package is edited, and when."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.child_processes import SpawnWithoutMain
from runner.engine.executors import contexts
from runner.engine.plugins.plugin_loading import allow_edits
from tests.runner.sweeping import FEW_METRICS, REPOSITORY, cells_in, own_data, run_small, samples_in, sweep_in

MODEL = """
from dataclasses import dataclass
from typing import ClassVar

from components.llms.scripted import Scripted
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState

from . import words


@dataclass(frozen=True)
class Model(Scripted):
    def generate(self, requests):
        for request in requests:
            yield Answer(request.id, AnswerState.OK, words.REPLY)


@dataclass(frozen=True)
class Baseline(Model):
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.SAMPLE
"""

DATA = """
from dataclasses import dataclass
from pathlib import Path

from components.datasets.jsonl import Jsonl


@dataclass(frozen=True)
class Editing(Jsonl):
    edit: str = ""

    def load_over(self, documents, counts):
        edited = Path(__file__).parent / self.edit
        edited.write_text(edited.read_text().replace("before", "after!"))
        return super().load_over(documents, counts)
"""

TEXTS = {"a": "one text", "b": "another text"}
QUESTIONS = [{"id": str(n), "question": f"Which text {n}?", "references": ["before"], "gold": ["a"]} for n in range(3)]
MODEL_OF_STUDY = ("llm=scripted", "llm._target_=edited_study.model.Model")
JOB = (*FEW_METRICS, "language=en", "run.plugins=[edited_study]")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    files = {"__init__": "", "model": MODEL, "data": DATA, "words": "REPLY = 'before'\n", "other": "OTHER = 'before'\n"}
    for name, text in files.items():
        (tmp_path / "edited_study").mkdir(exist_ok=True)
        (tmp_path / "edited_study" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("edited_study")]:
        del sys.modules[name]
    allow_edits()


def edit(study: Path, name: str) -> None:
    path = study / "edited_study" / f"{name}.py"
    path.write_text(path.read_text().replace("before", "after!"))


def answers(study: Path, model: str, sweep_id: str, *overrides: str) -> set[str]:
    """Return the answers of a sweep of one cell."""
    chosen = own_data(study, TEXTS, QUESTIONS)
    job = (*chosen, "llm=scripted", f"llm._target_=edited_study.model.{model}", *JOB, *overrides)
    assert run_small(study, job, sweep_id=sweep_id) == 0
    return {row["answer"] for row in samples_in(study, sweep_id)}


@pytest.mark.parametrize("model", ["Model", "Baseline"])
def test_code_edited_while_the_data_set_loads_belongs_to_the_next_run(model: str, study: Path) -> None:
    editing = ("dataset._target_=edited_study.data.Editing", "+dataset.edit=words.py")
    assert answers(study, model, "first", *editing) == {"before"}
    assert answers(study, model, "second", *editing) == {"after!"}


def test_sweep_ends_if_workers_would_import_an_edited_file(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The workers are spawned, and the next run has the new code."""
    monkeypatch.setattr(contexts, "fork_or_spawn", SpawnWithoutMain)
    monkeypatch.setenv("PYTHONPATH", f"{study}{os.pathsep}{REPOSITORY}")
    editing = ("dataset._target_=edited_study.data.Editing", "+dataset.edit=words.py", "run.workers=2")
    job = (*own_data(study, TEXTS, QUESTIONS), *MODEL_OF_STUDY, *JOB, *editing)
    assert run_small(study, job, sweep_id="first") == 2
    assert "words.py: changed after the code of edited_study was read for this run" in capsys.readouterr().err
    assert answers(study, "Model", "second", *editing) == {"after!"}


def test_code_edited_between_two_runs_is_reloaded_and_reported(study: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert answers(study, "Model", "first") == {"before"}
    edit(study, "words")
    assert answers(study, "Model", "second") == {"after!"}
    assert "edited_study: reloaded, because its files, or files of packages connected by imports, may be" in caplog.text


def test_plan_names_the_edit_that_requests_answers_again(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers(study, "Model", "first")
    edit(study, "words")
    capsys.readouterr()
    answers(study, "Model", "second")
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "1 answer of edited_study.model.Model requested again for answers: "
        "edited_study.words changed since they were given" in said.replace("3 answers", "1 answer")
    )


def test_edit_outside_the_model_code_requests_no_answers(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers(study, "Model", "first")
    edit(study, "other")
    capsys.readouterr()
    answers(study, "Model", "second")
    assert "asked again" not in capsys.readouterr().out
    assert sweep_in(study, "second").plan["n_requests"] == 0
    assert cells_in(study, "second")[0].status == "OK"
