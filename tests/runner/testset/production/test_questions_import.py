"""`python -m runner.datasets import`: folding, masking, counts, and the resulting data set."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.errors import ConfigError, DataError
from components.records import Turn
from runner.datasets import main
from runner.testset.production.private_data import PrivateData, private_data
from runner.testset.production.questions_import import import_questions
from runner.testset.production.traced_questions import SkippedTrace, TracedQuestion
from tests.runner.sweeping import FEW_METRICS, run_small, samples_in
from tests.runner.testset.production.test_sources import CHAIN, otlp, span

TRACES = (
    TracedQuestion("a", "How long may I return goods?", "30 days.", ("The default is 30 days.",), time=1,
                   feedback="good"),
    TracedQuestion("b", "how long may i return goods", "A month.", (), time=2, feedback="bad"),
    TracedQuestion("c", "Who designed the bridge?", "Ada. Write to ada@example.com", ("The bridge by Ada.",),
                   session="s", time=3),
    TracedQuestion("d", "And when was it opened?", "1932", (), session="s", time=4, feedback="good"),
    SkippedTrace("failed"),
    SkippedTrace("failed"),
)  # fmt: skip


def imported(
    folder: Path, *traces: TracedQuestion | SkippedTrace, private: PrivateData | None = None
) -> list[dict[str, Any]]:
    import_questions(traces, folder, private or PrivateData(), 0.6)
    return [json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()]


def test_imported_near_duplicates_become_one_question_with_counts(tmp_path: Path) -> None:
    first, second, third = imported(tmp_path / "out", *TRACES)
    assert first == {
        "id": "a",
        "question": "How long may I return goods?",
        "subset": "feedback mixed",
        "passages": ["The default is 30 days."],
        "production": {"answer": "30 days.", "n_asked": 2, "feedback": {"good": 1, "bad": 1}},
    }
    assert second["subset"] == "feedback none"
    assert third["history"] == [{"question": "Who designed the bridge?", "answer": "Ada. Write to ada@example.com"}]
    counts = json.loads((tmp_path / "out" / "import.json").read_text())
    assert (counts["n_traces"], counts["n_questions"], counts["n_folded"]) == (6, 3, 1)
    assert counts["skipped"] == {"failed": 2}
    assert counts["feedback"] == {"mixed": 1, "none": 1, "good": 1}


def test_trace_that_two_pages_list_is_one_question(tmp_path: Path) -> None:
    asked = TracedQuestion("a", "Who designed the bridge?", session="s", time=1.0)
    (only,) = imported(tmp_path / "out", asked, asked)
    assert "history" not in only
    counts = json.loads((tmp_path / "out" / "import.json").read_text())
    assert counts["skipped"] == {"duplicate id": 1}


def test_questions_with_different_numbers_are_not_merged(tmp_path: Path) -> None:
    asked = [TracedQuestion(str(year), f"What was the profit of ACME in {year}?") for year in (2019, 2020)]
    assert len(imported(tmp_path / "out", *asked)) == 2


def test_private_data_is_masked_only_by_the_named_rules(tmp_path: Path) -> None:
    private = private_data(["email,phone", r"ACME-\d{2,4}"])
    trace = TracedQuestion(
        "a",
        "I am bo.b@mail.example.org, +49 30 1234567, order ACME-123 of 2024-01-15, from 10.0.0.1?",
        "Call (030) 123 45 67, 13812345678 or 1,234,567.",
        ("x@y.zz",),
        (Turn("a@b.cc", "c@d.ee"),),
    )
    (own,) = imported(tmp_path / "out", trace, private=private)
    assert own["question"] == "I am [email], [phone], order [masked] of 2024-01-15, from 10.0.0.1?"
    assert own["production"]["answer"] == "Call [phone], [phone] or 1,234,567."
    assert own["passages"] == ["[email]"]
    assert own["history"] == [{"question": "[email]", "answer": "[email]"}]
    assert private.counts == {"email": 4, "phone": 3, r"ACME-\d{2,4}": 1}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("email,(", "or a regular expression"),
        ("x*", "matches the empty text"),
        ("emial", "got 'emial', expected one of .*; did you mean email"),
        ("emial,phone", "did you mean email"),
        ("email,Phones", "did you mean phone"),
    ],
)
def test_invalid_private_data_rule_is_rejected(rule: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        private_data([rule])


def test_question_import_rejects_a_used_folder_and_empty_traces(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="not an empty folder"):
        imported(tmp_path, *TRACES)
    with pytest.raises(DataError, match=r"no trace has a question \(failed 1\)"):
        imported(tmp_path / "out", SkippedTrace("failed"))
    assert not (tmp_path / "out").exists()


def test_question_import_makes_a_data_set_that_a_sweep_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {
        "retrieval.documents.0.document.content": "The bridge was opened in 1932.",
        "openinference.span.kind": "RETRIEVER",
    }
    spans = [
        span("t1", "root", input__value="When was the bridge opened? a@b.cc", output__value="In 1932.", **CHAIN),
        span("t1", "search", "root", **found),
        span("t2", "root", input__value="Who owns the bridge?", output__value="Nobody.", feedback="down", **CHAIN),
        span("t3", "root", code=2, **CHAIN),
    ]
    (tmp_path / "traces.jsonl").write_text(json.dumps(otlp(*spans)) + "\n")
    out = tmp_path / "questions"
    arguments = ["import", "--from", "otel", str(tmp_path / "traces.jsonl"), "--out", str(out), "--mask", "email"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "3 traces read: 2 questions kept, 0 merged into them, 1 skipped" in printed
    assert "skipped: failed 1" in printed
    assert f"dataset.documents=DOCUMENTS dataset.samples={out / 'questions.jsonl'} language=LANGUAGE" in printed
    assert "masked: email 1" in printed
    assert main(arguments) == 2
    assert main([*arguments, "--out", str(tmp_path / "bare"), "--no-passages"]) == 0
    assert "passages in the traces join" in printed
    assert "passages in the traces join" not in capsys.readouterr().out
    assert "passages" not in (tmp_path / "bare" / "questions.jsonl").read_text()
    data = ["dataset=jsonl", f"dataset.samples={out / 'questions.jsonl'}", "dataset.limit=null", "language=en"]
    assert run_small(tmp_path, [*data, *FEW_METRICS, "llm=none"]) == 0
    assert {row["subset"] for row in samples_in(tmp_path)} == {"feedback_bad", "feedback_none"}
    assert "of them passages" not in capsys.readouterr().out
    (tmp_path / "own.txt").write_text("Ada owns the bridge.")
    assert run_small(tmp_path, [*data, *FEW_METRICS, "llm=none", f"dataset.documents={tmp_path / 'own.txt'}"]) == 0
    assert "jsonl: 2 documents (1 of them passages of questions), 2 samples" in capsys.readouterr().out


def test_question_import_rejects_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["import", "--from", "otel", str(tmp_path / "none"), "--out", str(tmp_path / "out")]
    assert main(common) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main([*common, "--threshold", "2"]) == 2
    assert "threshold: got 2" in capsys.readouterr().err
    assert main([*common, "--experiment", "x"]) == 2
    assert "--experiment: requires --from mlflow" in capsys.readouterr().err
