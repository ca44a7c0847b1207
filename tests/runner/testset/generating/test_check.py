"""python -m runner.generate check, as users call it."""

import json
from pathlib import Path

import pytest

from runner.generate import main


def _check(*arguments: str) -> int:
    return main(["check", *arguments])


def _samples(folder: Path, *questions: str) -> list[str]:
    (folder / "documents.jsonl").write_text('{"id": "a", "text": "The tram is 17.6 kilometres long."}\n')
    lines = [{"id": str(n), "question": text, "references": ["17.6 km"]} for n, text in enumerate(questions)]
    (folder / "samples.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return ["dataset=jsonl", f"dataset.documents={folder}/documents.jsonl", f"dataset.samples={folder}/samples.jsonl"]


def test_check_command_prints_and_writes_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = _samples(tmp_path, "How long is the tram?", "According to the passage, how long is it?")
    out = tmp_path / "findings.jsonl"
    assert _check(*given, "--out", str(out)) == 1
    shown = capsys.readouterr().out
    assert "1 of 2 samples would be rejected" in shown
    assert f"all findings: {out}" in shown
    assert "points_at_document" in shown
    (line,) = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert (line["id"], line["gate"]) == ("1", "form")


def test_check_command_reports_a_set_without_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _check(*_samples(tmp_path, "How long is the tram?")) == 0
    assert "0 of 1 samples would be rejected" in capsys.readouterr().out


@pytest.mark.parametrize("overrides", [["dataset=demo_en"], ["dataset=demo", "language=en"]])
def test_check_command_takes_the_language_from_data_or_override(
    overrides: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _check(*overrides) == 0
    assert "0 of " in capsys.readouterr().out


def test_check_command_runs_the_chosen_gates_and_fields(tmp_path: Path) -> None:
    given = _samples(tmp_path, "How long is the tram?")
    assert _check(*given, "gates=[form]", "gates.form.shortest_question=100") == 1
    assert _check(*given, "gates=[]") == 0


def test_check_overrides_may_follow_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = _samples(tmp_path, "How long is the tram?")
    assert _check(*given, "--out", str(tmp_path / "findings"), "gates=[form]", "gates.form.shortest_question=100") == 1
    assert _check(*given, "gates=[form]", "gates.form.shortest_question=100") == 1
    assert "--out FILE writes all findings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gates=[form,closed_book]"], "gates: closed_book needs a model"),
        (["dataset=jsonl"], "dataset.documents: is empty"),
        (["gates.form.longest=3"], "longest"),
    ],
)
def test_invalid_check_setting_is_one_clear_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _check(*arguments) == 2
    assert message in capsys.readouterr().err


def test_containment_check_finds_nine_of_thirty_published_questions(shared_data: Path, tmp_path: Path) -> None:
    """In 9 of 30 questions, the other two texts contain half of one text, and in 2 of these nearly all of it."""
    crud = shared_data / "crud_rag"
    out = tmp_path / "findings.jsonl"
    given = ["dataset=crud_rag", f"dataset.root={_small(crud, tmp_path)}", "dataset.subsets=[read/qa_3docs]"]
    given.append(f"dataset.split_file={crud}/crud_split/split_merged.json")
    found = _check(*given, "gates=[containment]", "--out", str(out))
    reasons = [json.loads(line)["reason"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert found == 1
    assert (len(reasons), reasons.count("text_contained")) == (9, 2)


def _small(crud: Path, folder: Path) -> Path:
    """One part of the corpus: texts that are not in it join it."""
    root = folder / "crud"
    (root / "80000_docs").mkdir(parents=True)
    part = min((crud / "80000_docs").iterdir())
    (root / "80000_docs" / part.name).write_bytes(part.read_bytes())
    return root
