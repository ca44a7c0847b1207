"""`python -m runner.export_rankings`: the rankings of a cell, for other tools."""

import csv
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
import pytrec_eval

from runner.export_rankings import main
from runner.results.ranking_formats import SampleRanking, trec_lines
from tests.runner.sweeping import RANKING_ONLY, SWEEP_ID, cells_in, own_data, run_small, samples_in

Refused = Callable[..., str]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cells over the demo data, the second with more chunks per document."""
    folder = tmp_path_factory.mktemp("sweep")
    assert run_small(folder, (*RANKING_ONLY, "llm=none"), (*RANKING_ONLY, "llm=none", "chunk.size=32")) == 0
    return folder / "results" / SWEEP_ID


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Return a function that runs unusable arguments and returns the error. It checks that no file was written."""

    def refused(*arguments: object, output: Path = tmp_path / "refused") -> str:
        assert main([*map(str, arguments), "--out", str(output)]) == 2
        assert not output.exists()
        return capsys.readouterr().err

    return refused


def test_trec_eval_reproduces_the_metrics_of_the_cell(sweep: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.txt"
    assert main([str(sweep), "--cell", "chunk.size=32", "--format", "trec", "--out", str(output)]) == 0
    (cell,) = (cell for cell in cells_in(sweep.parents[1]) if cell.axes["chunk.size"] == 32)
    gold: dict[str, dict[str, int]] = defaultdict(dict)
    rows = {row["id"]: row for row in samples_in_cell(sweep / cell.cell_id)}
    for an_id, row in rows.items():
        gold[an_id] |= {unit["document_id"]: unit["grade"] for unit in row["gold"]}
    with output.open(encoding="utf-8") as file:
        run = pytrec_eval.parse_run(file)
    found = pytrec_eval.RelevanceEvaluator(gold, {"ndcg_cut.10", "recip_rank"}).evaluate(run)
    entry = cell.metrics["overall"]["ndcg@10"]
    assert len(found) == entry["n"]
    assert sum(each["ndcg_cut_10"] for each in found.values()) / len(found) == pytest.approx(entry["value"], abs=1e-12)


def test_samples_file_of_another_cell_is_rejected(sweep: Path, tmp_path: Path, refused: Refused) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(sweep, copied)
    first, second = (cell.cell_id for cell in cells_in(sweep.parents[1]))
    shutil.copyfile(sweep / second / "samples.parquet", copied / first / "samples.parquet")
    error = refused(copied, "--cell", first, "--format", "trec")
    assert "differs from cell.json beside it" in " ".join(error.split())


def samples_in_cell(folder: Path) -> list[dict[str, object]]:
    from runner.results import read_samples

    return read_samples(folder, ["id", "gold"])


def test_trec_scores_decrease_strictly_and_documents_are_unique() -> None:
    lines = list(trec_lines([SampleRanking("q", "", (("b", 2.0), ("a", 2.0), ("c", 2.0), ("d", 1.0)))], 3, "mine"))
    fields = [line.split() for line in lines]
    assert [field[2] for field in fields] == ["b", "a", "c"]
    assert [field[3] for field in fields] == ["1", "2", "3"]
    scores = [float(field[4]) for field in fields]
    assert scores[0] == 2.0 > scores[1] > scores[2] > 1.9999
    assert {field[5] for field in fields} == {"mine"}


def test_submission_has_challenge_ids_and_ten_documents_per_question(tmp_path: Path) -> None:
    root = tmp_path / "sets" / "FinQABench"
    root.mkdir(parents=True)
    documents = "".join(f'{{"_id": "d{i}", "title": "", "text": "revenue of the year {i}"}}\n' for i in range(12))
    (root / "corpus.jsonl").write_text(documents, encoding="utf-8")
    (root / "queries.jsonl").write_text('{"_id": "q1", "text": "revenue 7"}\n{"_id": "q2", "text": "revenue 3"}\n')
    (root / "qrels.tsv").write_text("query_id\tcorpus_id\tscore\nq1\td7\t1\n", encoding="utf-8")
    data = ("dataset=financerag", f"dataset.root={root.parent}", "dataset.skip_missing=true", "language=en")
    assert (
        run_small(tmp_path, (*data, *RANKING_ONLY, "llm=none", "retriever.sparse_index.max_share_without_hits=1")) == 0
    )
    output = tmp_path / "submission.csv"
    sweep = str(tmp_path / "results" / SWEEP_ID)
    assert main([sweep, "--format", "financerag", "--out", str(output)]) == 0
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_query: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_query[row["query_id"]].append(row["corpus_id"])
    assert {query: len(set(found)) for query, found in by_query.items()} == {"q1": 10, "q2": 10}
    assert by_query["q1"][0] == "d7"


def test_question_without_hits_is_counted_in_the_ranking_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = [
        {"id": "found", "question": "revenue", "references": ["5"], "gold": ["a"]},
        {"id": "lost", "question": "zebra", "references": ["6"], "gold": ["a"]},
    ]
    data = own_data(tmp_path, {"a": "revenue was 5", "b": "revenue was 6"}, samples)
    more = ("language=en", "llm=none", "retriever.sparse_index.max_share_without_hits=1", *RANKING_ONLY)
    assert run_small(tmp_path, (*data, *more)) == 0
    assert [len(row["retrieved"]) for row in samples_in(tmp_path)] == [2, 0]
    capsys.readouterr()
    output = tmp_path / "run.txt"
    assert main([str(tmp_path / "results" / SWEEP_ID), "--format", "trec", "--output", str(output)]) == 0
    assert "rankings of 1 question" in (said := capsys.readouterr().out)
    assert "found nothing for 1" in said
    assert {line.split()[0] for line in output.read_text(encoding="utf-8").splitlines()} == {"found"}


def test_impossible_ranking_exports_are_rejected(sweep: Path, refused: Refused) -> None:
    assert "has 2 finished cells, expected one. Choose it with --cell" in (said := refused(sweep, "--format", "trec"))
    assert "chunk.size" in said
    cell = ("--cell", "chunk.size=32")
    assert "not an id of the FinanceRAG challenge" in refused(sweep, *cell, "--format", "financerag")
    assert "--depth: got 0" in refused(sweep, *cell, "--format", "trec", "--depth", 0)
    assert "no sweep here" in refused(sweep / "nowhere", "--format", "trec")
    assert "whitespace" in refused(sweep, *cell, "--format", "trec", "--tag", "my run")
    assert "cannot be written" in refused(sweep, *cell, "--format", "trec", output=sweep / "no" / "file")
