"""Labels of claims: written from a sweep, read in three formats, and compared with a judge."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from components.errors import DataError
from components.records import JudgeInput, Kind, Passage, Sample
from runner.judge_agreement import main as judge_agreement
from runner.labels.claim_labels import claims_file, read_claim_labels
from tests.runner.sweeping import QUIET, SWEEP_ID, run_small

JUDGED = ("dataset=demo_en", "dataset.limit=8", "metrics=retrieval", "metrics.interval.n_resamples=100", *QUIET,
          "judge=faithfulness", "llm@judge.llm=rehearsal", *(f"~judge.scores.{name}" for name in (
              "answer_relevancy", "context_relevance", "context_relevance_compat", "context_precision",
              "context_precision_without_reference", "context_recall")))  # fmt: skip
PASSAGES = ["The mill closed in 1901. It stands by the river.", "Trains use the bridge."]
CLAIMS = {"The mill closed in 1901.": "supported", "The mill closed in 1902.": "contradicted",
          "The mill was blue.": "neither", "Trains use the bridge.": "neither"}  # fmt: skip
"""Claims with verdicts of people. The last one is wrong."""


def records(n_answers: int = 6) -> list[dict[str, Any]]:
    return [
        {"id": str(n), "question": f"What of mill {n}?", "answer": "-", "passages": PASSAGES, "claim": claim,
         "verdict": verdict}
        for n in range(n_answers)
        for claim, verdict in CLAIMS.items()
    ]  # fmt: skip


def jsonl(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path = folder / "claims.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def as_csv(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path = folder / "claims.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "passages": json.dumps(row["passages"])} for row in rows)
    return path


def tasks(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    def annotation(verdict: str) -> dict[str, Any]:
        return {"result": [{"from_name": "verdict", "value": {"choices": [verdict]}}]}

    exported = [
        {"data": {name: value for name, value in row.items() if name != "verdict"},
         "annotations": [annotation(own) for own in row["verdict"].split("|") if own]}
        for row in rows
    ]  # fmt: skip
    path = folder / "claims.json"
    path.write_text(json.dumps(exported), encoding="utf-8")
    return path


def agreement(folder: Path, labels: Path, judge: str, *more: str) -> dict[str, Any]:
    model = ("language=en", "llm@judge.llm=rehearsal", f"run.results_dir={folder / 'results'}")
    report = folder / "report.json"
    options = ["--claims", str(labels), "--judge", judge, "--json", str(report)]
    assert judge_agreement([*options, *model, f"run.store_dir={folder / 'store'}", *more]) == 0
    return dict(json.loads(report.read_text(encoding="utf-8")))


class TestReading:
    def test_claim_labels_are_equal_in_all_file_formats(self, tmp_path: Path) -> None:
        read = [read_claim_labels(write(tmp_path, records(1))) for write in (jsonl, as_csv, tasks)]
        assert read[0] == read[1] == read[2]
        assert {own.claim: str(own.verdict) for own in read[0]} == CLAIMS

    def test_claim_labels_skip_missing_verdicts_and_keep_ties(self, tmp_path: Path) -> None:
        first, second, third, fourth = records(1)
        rows = [{**first, "verdict": "supported|neither"}, {**second, "verdict": ""},
                {**third, "verdict": "neither|supported|neither"}]  # fmt: skip
        assert [own.verdict for own in read_claim_labels(tasks(tmp_path, rows))] == [None, "neither"]
        assert len(read_claim_labels(jsonl(tmp_path, [{**first, "verdict": ""}, fourth]))) == 1

    @pytest.mark.parametrize(
        ("changes", "problem"),
        [
            ({"verdict": "yes"}, "got the verdict 'yes', expected one of supported, contradicted, neither"),
            ({"passages": []}, "has no passages"),
            ({"claim": " "}, "the claim is blank"),
            ({"verdict": ""}, "got no claim with a verdict"),
        ],
    )
    def test_unusable_claim_labels_are_errors_with_their_place(
        self, tmp_path: Path, changes: Mapping[str, Any], problem: str
    ) -> None:
        with pytest.raises(DataError, match=problem):
            read_claim_labels(jsonl(tmp_path, [{**records(1)[0], **changes}]))


class TestAgreement:
    @pytest.mark.parametrize("judge", ["faithfulness", "claims"])
    def test_claim_agreement_reports_kappa_interval_and_verdict_table(self, tmp_path: Path, judge: str) -> None:
        report = agreement(tmp_path, jsonl(tmp_path, records()), judge)
        entry = report["metrics"]["claims"]
        assert (entry["n"], entry["n_questions"], entry["n_failed"]) == (24, 6, 0)
        assert entry["accuracy"] == pytest.approx(sum(
            own for label, row in entry["confusion"].items() for name, own in row.items() if name == label
        ) / 24)  # fmt: skip
        assert entry["confusion"]["neither"]["supported"] == 6, "trains use the bridge in a passage"
        assert entry["confusion"]["supported"]["supported"] == 6
        assert entry["kappa_interval"][0] < entry["kappa"] < entry["kappa_interval"][1]
        assert entry["weighted_kappa"] is None, "verdicts are not numbers"
        wrong = [row for row in report["disagreements"] if row["remark"].startswith("Trains use")]
        assert [(row["label"], row["judged"]) for row in wrong] == [("neither", "supported")] * 6

    def test_claim_agreement_prints_its_table(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        agreement(tmp_path, jsonl(tmp_path, records()), "faithfulness")
        output = capsys.readouterr().out
        assert "claims: human labels (rows), judge (columns)" in output
        assert "Trains use the bridge." in output

    def test_claim_agreement_refuses_a_judge_without_claims(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        labels = str(jsonl(tmp_path, records(1)))
        model = ("llm@judge.llm=rehearsal", f"run.store_dir={tmp_path / 'store'}")
        assert judge_agreement(["--claims", labels, "--judge", "relevance", *model]) == 2
        assert "this judge checks no claims. Choose faithfulness or claims." in capsys.readouterr().err


class TestWriting:
    @pytest.mark.parametrize(
        "text", ['=HYPERLINK("http://x.example","open")', "-5 degrees", "@SUM(1+1)", "0.50", "'tis"]
    )
    def test_csv_cells_that_spreadsheets_convert_are_escaped_and_read_back(self, text: str, tmp_path: Path) -> None:
        sample = Sample(text, "read", Kind.QA, text, ())
        lines = claims_file("claims.csv", [(JudgeInput(sample, text, (Passage("A passage."),)), [text])])[".csv"]
        sheet = tmp_path / "claims.csv"
        sheet.write_text("\n".join(lines), encoding="utf-8")
        rows = list(csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines(keepends=True)))
        assert {rows[0][name] for name in ("id", "question", "answer", "claim")} == {f"'{text}"}
        (read,) = read_claim_labels(as_csv(tmp_path, [{**rows[0], "passages": ["A passage."], "verdict": "neither"}]))
        assert {read.claim, read.judged.answer, read.judged.sample.id, read.judged.sample.question} == {text}

    @pytest.mark.parametrize("name", ["sheet.csv", "sheet.jsonl", "sheet.json"])
    def test_claims_of_a_sweep_are_written_labelled_and_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert run_small(tmp_path, JUDGED) == 0
        sheet = tmp_path / name
        store = f"run.store_dir={tmp_path / 'results' / 'store'}"
        command = ["--judge", "faithfulness", "language=en", "llm@judge.llm=rehearsal", store]
        assert judge_agreement(["--write-claims", str(sheet), "--sweep", SWEEP_ID, "--answers", "5", *command]) == 0
        assert "claims of 5 answers" in capsys.readouterr().out
        if sheet.suffix == ".json":
            config = Xml.fromstring(sheet.with_suffix(".xml").read_text(encoding="utf-8"))
            assert [own.get("value") for own in config.iter("Choice")] == ["supported", "contradicted", "neither"]
            given = json.loads(sheet.read_text(encoding="utf-8"))
            sheet = tasks(tmp_path, [{**own["data"], "verdict": "supported"} for own in given])
        elif sheet.suffix == ".csv":
            lines = list(csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines(keepends=True)))
            rows = [{**row, "passages": json.loads(row["passages"]), "verdict": "supported"} for row in lines]
            sheet = as_csv(tmp_path, rows)
        else:
            rows = [json.loads(line) for line in sheet.read_text(encoding="utf-8").splitlines()]
            sheet = jsonl(tmp_path, [{**row, "verdict": "supported"} for row in rows])
        assert judge_agreement(["--claims", str(sheet), "--sweep", SWEEP_ID, *command]) == 0
        output = capsys.readouterr().out
        assert "1.000" in output, "the answers quote their passages"

    def test_write_claims_requires_a_sweep(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        model = ("llm@judge.llm=rehearsal", f"run.store_dir={tmp_path / 'store'}")
        assert judge_agreement(["--write-claims", str(tmp_path / "c.csv"), "--judge", "claims", *model]) == 2
        assert "--write-claims: got no --sweep" in capsys.readouterr().err
