"""Sweeps over parsers of a user's own documents."""

import json
from pathlib import Path

from benchmarks.planted_documents import plant_facts, write_docx, write_pdf
from tests.runner.sweeping import QUIET, run_command

SMALL = (
    "dataset=jsonl", "dataset.keep_structure=true", "dataset.documents=documents", "dataset.samples=samples.jsonl",
    "language=en", "retriever=bm25", "chunk.size=16", "llm=none", "metrics=retrieval",
    "metrics.interval.n_resamples=100", *QUIET,
)  # fmt: skip


def _write(folder: Path) -> None:
    (folder / "documents").mkdir()
    samples = []
    for number in range(3):
        content = plant_facts(number, "en")
        write_pdf(content, folder / "documents" / f"{number}.pdf")
        row = content.table[2]
        sample = {"id": str(number), "question": " ".join(content.table[1]), "references": [row[0]]}
        samples.append({**sample, "gold": [f"{number}.pdf"]})
    (folder / "samples.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples), encoding="utf-8")


def _cells(folder: Path) -> dict[str, dict[str, object]]:
    records = [json.loads(file.read_text(encoding="utf-8")) for file in (folder / "results").glob("*/*/cell.json")]
    return {record["axes"]["parser"]: record for record in records}


def test_parser_axis_parses_a_file_once_per_parser(tmp_path: Path) -> None:
    _write(tmp_path)
    done = run_command(tmp_path, "-m", "parser=built_in,pdfplumber,pypdfium2", "top_k=1,2", *SMALL)
    assert done.returncode == 0, done.stderr
    records = _cells(tmp_path)
    assert set(records) == {"built_in", "pdfplumber", "pypdfium2"}
    store = tmp_path / "results" / "store" / "entries"
    assert len(list((store / "source").glob("*/*"))) == 3
    texts = {name: record["dataset"] for name, record in records.items()}
    assert len({json.dumps(text, sort_keys=True) for text in texts.values()}) == 3

    again = run_command(tmp_path, "-m", "parser=pdfplumber,built_in", "top_k=1,2,3", *SMALL)
    assert again.returncode == 0, again.stderr
    assert len(list((store / "source").glob("*/*"))) == 3, "the stored texts are read again"


def test_data_sets_without_files_ignore_the_parser(tmp_path: Path) -> None:
    done = run_command(
        tmp_path, "-m", "parser=built_in,pdfplumber", "dataset=demo", "llm=none", "metrics=retrieval",
        "run.plan_only=true", *QUIET,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 cell (1 duplicate" in " ".join(done.stdout.split())


def test_office_documents_without_a_parser_are_an_error(tmp_path: Path) -> None:
    _write(tmp_path)
    for file in (tmp_path / "documents").iterdir():
        file.unlink()
    write_docx(plant_facts(0, "en"), tmp_path / "documents" / "0.docx")
    (tmp_path / "samples.jsonl").write_text(
        '{"id": "0", "question": "A bridge?", "gold": ["0.docx"]}', encoding="utf-8"
    )
    refused = run_command(tmp_path, *SMALL)
    assert refused.returncode == 2
    message = " ".join(refused.stderr.split())
    assert "it has no readable file, only 1 .docx. Expected" in message
    assert "parser=office reads Office files." in message
    done = run_command(tmp_path, "parser=office", *SMALL)
    assert done.returncode == 0, done.stderr
