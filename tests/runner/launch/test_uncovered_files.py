"""Files that users' code reads outside its package: each later plan reports an edit, until the revision changes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.forgotten_packages import forget_packages
from tests.runner.sweeping import FEW_METRICS, cells_in, own_data, run_small, sweep_in

AT_IMPORT = "TEXT = read()\n\n\ndef answer(question):\n    return {'answer': TEXT, 'passages': []}\n"
PER_CALL = "def answer(question):\n    return {'answer': read(), 'passages': []}\n"
READING = """from pathlib import Path


def read():
    return Path(__file__).parents[1].joinpath(*["manuals", "one" + ".md"]).read_text()


"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("uncovered_study/__init__.py", "manuals/one.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("first")
    (tmp_path / "uncovered_study" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    forget_packages(["uncovered_study"])


def run(study: Path, sweep_id: str, *overrides: str) -> None:
    questions = [{"id": "q", "question": "Which text?", "references": ["first"], "gold": ["a"]}]
    data = own_data(study, {"a": "one text", "b": "another text"}, questions)
    pipeline = ("pipeline=python", "pipeline.call=uncovered_study.rag.answer", "run.plugins=[uncovered_study]")
    assert run_small(study, (*data, *FEW_METRICS, "language=en", *pipeline, *overrides), sweep_id=sweep_id) == 0
    assert cells_in(study, sweep_id)[0].status == "OK"


def warnings_of(study: Path, capsys: pytest.CaptureFixture[str], sweep_id: str, *overrides: str) -> list[str]:
    capsys.readouterr()
    run(study, sweep_id, *overrides)
    said = " ".join(capsys.readouterr().out.split())
    return [part for part in said.split("uncovered_study.rag.answer: ") if part.startswith("stored results may be")]


def test_new_file_in_a_listed_folder_outside_the_package_is_reported(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = READING.replace(
        "def read():", "def read():\n    [*Path(__file__).parents[1].joinpath('manuals').glob('*.md')]"
    )
    (study / "uncovered_study" / "rag.py").write_text(listing + PER_CALL)
    assert warnings_of(study, capsys, "first") == []
    assert warnings_of(study, capsys, "again") == []
    (study / "new.tmp").write_text("two")
    (study / "new.tmp").replace(study / "manuals" / "two.md")
    (line,) = warnings_of(study, capsys, "added")
    assert line.startswith("stored results may be outdated: manuals/ changed since its first run")


@pytest.mark.parametrize("code", [AT_IMPORT, PER_CALL], ids=["at import", "per call"])
@pytest.mark.parametrize("workers", [1, 2])
def test_edit_outside_the_package_is_reported_until_the_revision_changes(
    workers: int, code: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "uncovered_study" / "rag.py").write_text(READING + code)

    def warnings(sweep_id: str, *overrides: str) -> list[str]:
        return warnings_of(study, capsys, sweep_id, f"run.workers={workers}", *overrides)

    def edit(text: str) -> None:
        """Replace the file, because this process must not seem to write it as an output."""
        (study / "new.tmp").write_text(text)
        (study / "new.tmp").replace(study / "manuals" / "one.md")

    assert warnings("first") == []
    assert warnings("again") == []
    edit("second")
    for sweep_id in ("edited", "edited again"):
        (line,) = warnings(sweep_id)
        assert line.startswith("stored results may be outdated: manuals/one.md changed since its first run")
        assert sweep_in(study, sweep_id).plan["n_requests"] == 0
    assert warnings("revised", "pipeline.revision=2") == []
    assert sweep_in(study, "revised").plan["n_requests"] == 1
    edit("first")
    assert warnings("restored") == []
    assert len(warnings("of the second text", "pipeline.revision=2")) == 1


@pytest.mark.parametrize(
    "keep",
    [
        "path = ROOT / 'state' / 'cache.json'; text = path.read_text(); path.write_text(text + question)",
        "path = ROOT / 'state' / 'cache.json'; text = path.read_text(); new = ROOT / 'state' / 'new.tmp'; "
        "new.write_text(text + question); new.replace(path)",
        "list((ROOT / 'state').glob('*.json')); (ROOT / 'state' / f'{question}.json').write_text('')",
    ],
    ids=["cache", "replaced", "cache folder"],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_files_that_the_code_writes_itself_are_not_reported(
    workers: int, keep: str, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study / "state").mkdir()
    (study / "state" / "cache.json").write_text("")
    code = f"from pathlib import Path\n\nROOT = Path(__file__).parents[1]\n\n\ndef answer(question):\n    {keep}\n"
    (study / "uncovered_study" / "rag.py").write_text(code + "    return question\n")
    for number in range(4):
        questions = [{"id": "q", "question": f"Which {number}", "references": ["first"], "gold": ["a"]}]
        data = own_data(study, {"a": "one text", "b": "another text"}, questions)
        pipeline = ("pipeline=python", "pipeline.call=uncovered_study.rag.answer", "run.plugins=[uncovered_study]")
        sweep = (*data, *FEW_METRICS, "language=en", *pipeline, f"run.workers={workers}")
        assert run_small(study, sweep, sweep_id=str(number)) == 0
        assert "may be outdated" not in capsys.readouterr().out
