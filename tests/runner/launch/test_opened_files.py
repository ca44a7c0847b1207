"""Replies of a user's model depend on what it opened, even where its source does not show the file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.runner.forgotten_packages import forget_packages
from tests.runner.sweeping import FEW_METRICS, cells_in, own_data, run_small, samples_in, sweep_in

MODEL = """
import importlib.metadata
import io
import linecache
import os
import sqlite3
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from string import Template

import jinja2

from components.llms.scripted import Scripted
from components.records import Answer, AnswerState

HERE = __spec__.origin.rpartition(os.sep)[0]
FORMAT = "%s/%s.%s"
NAME = "answer"


def whole(path):
    with io.FileIO(path) as file:
        return file.read().decode()


def reply():
    {}


@dataclass(frozen=True)
class Model(Scripted):
    def generate(self, requests):
        for request in requests:
            yield Answer(request.id, AnswerState.OK, str(reply()).strip())
"""

TEXTS = {"a": "one text", "b": "another text"}
QUESTIONS = [{"id": str(n), "question": f"Which text {n}?", "references": ["before"], "gold": ["a"]} for n in range(3)]

IDIOMS = {
    "a format in a variable": ("answer.txt", "return whole(FORMAT % (HERE, NAME, 'txt'))"),
    "a template of strings": ("answer.txt", "return whole(Template('$a/$b.txt').substitute(a=HERE, b=NAME))"),
    "a format method": ("answer.txt", "form = '{}/{}.txt'; return whole(form.format(HERE, NAME))"),
    "a list of folders": (
        "answer.txt",
        "return [whole(e.path) for e in getattr(os, 'scan' + 'dir')(HERE) if e.name[-4:] == '.txt'][0]",
    ),
    "a linked folder": ("linked/answer.txt", "return whole(FORMAT % ('%s/%s' % (HERE, 'linked'), NAME, 'txt'))"),
    "code as text": ("answer.py", "return whole(FORMAT % (HERE, NAME, 'py'))"),
    "a line of code": ("answer.py", "return linecache.updatecache(FORMAT % (HERE, NAME, 'py'))[-1]"),
    "a cached line": ("answer.txt", "return linecache.getline(FORMAT % (HERE, NAME, 'txt'), 1)"),
    "a template engine": (
        "answer.txt",
        "loader = getattr(jinja2, 'FileSystem' + 'Loader')(HERE); engine = jinja2.Environment(loader=loader); "
        "return engine.get_template(NAME + '.txt').render()",
    ),
    "a thread": ("answer.txt", "return next(ThreadPoolExecutor(1).map(whole, [FORMAT % (HERE, NAME, 'txt')]))"),
    "an open in a thread": (
        "answer.txt",
        "file = ThreadPoolExecutor(1).submit(io.FileIO, FORMAT % (HERE, NAME, 'txt')).result(); "
        "text = file.read().decode(); file.close(); return text",
    ),
    "a database": (
        "answer.db",
        "base = sqlite3.connect('file:%s?mode=ro' % (FORMAT % (HERE, NAME, 'db')), uri=True); "
        "text = base.execute('select text from answers').fetchone()[0]; base.close(); return text",
    ),
    "resources": (
        "answer.txt",
        "return next(p for p in resources.files(__package__).iterdir() if p.name[-3:] == 'txt'"
        " and NAME in p.name).read_text()",
    ),
    "an entry point": (
        "answer.py",
        "return importlib.metadata.EntryPoint(NAME, '%s:%s' % (f'{__package__}.{NAME}', 'TEXT'), 'x').load()",
    ),
}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "opening_study").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "opening_study" / "linked").symlink_to(tmp_path / "elsewhere")
    for name in ("__init__.py", "other.py", "other.txt"):
        (tmp_path / "opening_study" / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    forget_packages(["opening_study"])


def write(study: Path, name: str, text: str) -> None:
    path = study / "opening_study" / name
    if path.suffix != ".db":
        path.write_text(text)
        return
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table answers (text)")
        database.execute("insert into answers values (?)", [text])


def answers(study: Path, sweep_id: str, *overrides: str) -> set[str]:
    """Return the answers of a sweep of one cell."""
    data = own_data(study, TEXTS, QUESTIONS)
    model = ("llm=scripted", "llm._target_=opening_study.model.Model", "run.plugins=[opening_study]")
    assert run_small(study, (*data, *FEW_METRICS, "language=en", *model, *overrides), sweep_id=sweep_id) == 0
    assert cells_in(study, sweep_id)[0].status == "OK"
    return {row["answer"].rpartition("=")[2].strip(" '") for row in samples_in(study, sweep_id)}


def n_requests(study: Path, sweep_id: str) -> int:
    return int(sweep_in(study, sweep_id).plan["n_requests"])


@pytest.mark.parametrize(
    ("idiom", "workers"), [*((idiom, 1) for idiom in IDIOMS), *((idiom, 2) for idiom in ("a thread", "an entry point"))]
)
def test_edit_of_a_file_that_the_model_opened_sends_requests_again(idiom: str, workers: int, study: Path) -> None:
    file, read = IDIOMS[idiom]
    write(study, "model.py", MODEL.format(read))
    write(study, file, "TEXT = 'before'")
    several = f"run.workers={workers}"
    assert answers(study, "first", several) == {"before"}
    write(study, "other.py", "EDITED = True")
    write(study, "added.py", "ADDED = True")
    assert answers(study, "second", several) == {"before"}
    write(study, file, "TEXT = 'after!'")
    assert answers(study, "third", several) == {"after!"}
    write(study, file, "TEXT = 'before'")
    assert answers(study, "fourth", several) == {"before"}
    assert n_requests(study, "fourth") == 0


def test_edit_of_a_file_that_no_run_opened_sends_no_requests(study: Path) -> None:
    file, read = IDIOMS["a format in a variable"]
    write(study, "model.py", MODEL.format(read))
    write(study, file, "before")
    answers(study, "first")
    write(study, "other.py", "EDITED = True")
    write(study, "other.txt", "edited")
    answers(study, "second")
    assert n_requests(study, "second") == 0


def test_deleted_file_that_the_model_opened_sends_requests_again(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = "path = FORMAT % (HERE, NAME, 'txt'); return whole(path) if os.path.exists(path) else 'without'"
    write(study, "model.py", MODEL.format(read))
    write(study, "answer.txt", "before")
    assert answers(study, "first") == {"before"}
    (study / "opening_study" / "answer.txt").unlink()
    capsys.readouterr()
    assert answers(study, "second") == {"without"}
    assert "opening_study/answer.txt changed since they were given" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("check", ["os.path.isfile(path)", "can_open(path)"])
def test_new_file_that_the_model_looked_for_sends_requests_again(check: str, study: Path) -> None:
    more = "\n\ndef can_open(path):\n    try:\n        return whole(path)\n    except OSError:\n        return ''\n"
    read = f"path = FORMAT % (HERE, 'own', 'txt'); return whole(path if {check} else FORMAT % (HERE, NAME, 'txt'))"
    write(study, "model.py", MODEL.format(read) + more)
    write(study, "answer.txt", "before")
    assert answers(study, "first") == {"before"}
    write(study, "own.txt", "own")
    assert answers(study, "second") == {"own"}


def test_changed_target_of_one_link_sends_requests_again(study: Path) -> None:
    write(study, "model.py", MODEL.format("return whole(FORMAT % (HERE, NAME, 'txt'))"))
    for name, text in (("a", "before"), ("b", "after!")):
        (study / "elsewhere" / f"{name}.txt").write_text(text)
    links = [study / "opening_study" / name for name in ("answer.txt", "other_link.txt")]
    for link in links:
        link.symlink_to(study / "elsewhere" / "a.txt")
    assert answers(study, "first") == {"before"}
    links[0].unlink()
    links[0].symlink_to(study / "elsewhere" / "b.txt")
    assert answers(study, "second") == {"after!"}


def test_new_file_in_a_listed_folder_sends_requests_again(study: Path) -> None:
    write(study, "model.py", MODEL.format("return len(getattr(os, 'list' + 'dir')('%s/%s' % (HERE, 'linked')))"))
    write(study, "linked/one.txt", "")
    assert answers(study, "first") == {"1"}
    write(study, "linked/two.txt", "")
    assert answers(study, "second") == {"2"}


def test_source_lines_in_a_traceback_are_not_dependencies(study: Path) -> None:
    write(study, "other.py", "def call(function):\n    return function()\n")
    write(study, "model.py", MODEL.format("return getattr(traceback, 'format_stack')() and 'before'"))
    write(
        study,
        "loading.py",
        "import opening_study.model\nfrom opening_study.other import call\n"
        "call(opening_study.model.reply)\nModel = opening_study.model.Model\n",
    )
    loading = "llm._target_=opening_study.loading.Model"
    assert answers(study, "first", loading) == {"before"}
    write(study, "other.py", "def call(function):\n    return function() \n")
    answers(study, "second", loading)
    assert n_requests(study, "second") == 0
