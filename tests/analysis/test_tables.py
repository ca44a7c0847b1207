"""python -m analysis table: a published table next to the matching cells of a sweep."""

import argparse
import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from analysis import published
from analysis import table as tables
from components.errors import DataError
from runner.results import FAILED, OK, CellResult, SweepResult, write_cell, write_sweep

BASE = {
    "dataset": "demo",
    "chunk.size": 128,
    "chunk.overlap": 0.0,
    "retriever": "dense",
    "embedder": "lsa",
    "top_k": 8,
    "llm": "extractive",
}
CONFIG = {"metrics": {"interval": {"confidence": 0.9}}}


def entry(value: float, n: int = 20) -> dict[str, Any]:
    return {"value": value, "n": n, "n_excluded": {}, "ci_low": value - 0.01, "ci_high": value + 0.01}


def cell(name: str, metrics: dict[str, float], status: str = OK, **axes: Any) -> CellResult:
    """A cell with the same values in all subsets of CRUD-RAG."""
    subsets = published.read_table("crud_rag/3").info.paper.n_samples
    of_subset = {metric: entry(value) for metric, value in metrics.items()}
    own = BASE | {axis.replace("chunk_", "chunk."): value for axis, value in axes.items()}
    return CellResult(
        name,
        status,
        own,
        (),
        CONFIG,
        {"name": "demo"},
        "broken" if status == FAILED else "",
        dict.fromkeys(subsets, of_subset),
    )


def write(folder: Path, *cells: CellResult) -> Path:
    for own in cells:
        write_cell(folder, own, {})
    rows = tuple({"cell_id": own.cell_id, "status": own.status} for own in cells)
    write_sweep(folder, SweepResult("s", "s", OK, "", (), "", "", rows, {}))
    return folder


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    tables.add_arguments(parser)
    return parser.parse_args(arguments)


def table(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output of the command."""
    assert tables.run(parse(*arguments)) == 0
    return capsys.readouterr().out


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


class TestAlone:
    def test_table_command_lists_all_tables_and_papers(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = table(capsys=capsys)
        assert all(name in text for name in published.TABLES)
        assert "https://doi.org/10.1145/3701228" in text

    def test_table_command_shows_the_printed_numbers(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = table("crud_rag/4", "--metric", "bleu", "--metric", "length", capsys=capsys)
        assert ["delete/summarization", "0", "0.2369", "205.9"] in rows_of(text)
        assert ["70", "0.2449", "201.8"] in rows_of(text)
        assert "source: table 4 of Lyu" in text

    def test_table_command_writes_counts_in_full(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert ["FinGLM", "PDF", "-", "TXT", "55,595", "97,296,690"] in rows_of(table("omnieval/2", capsys=capsys))

    def test_table_command_reports_inferred_marks(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "they are inferred from the order of the rows" in table("financerag/1", capsys=capsys)


class TestBeside:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return write(
            tmp_path,
            cell("aaaaaaaaaaaa", {"bleu": 0.30, "rouge_l": 0.5, "rouge_l_crud_compat": 0.6}),
            cell("bbbbbbbbbbbb", {"bleu": 0.40, "rouge_l": 0.5}, top_k=4),
            cell("cccccccccccc", {"bleu": 0.99}, top_k=4, chunk_size=64),
            cell("dddddddddddd", {"bleu": 0.99}, top_k=5),
            cell("eeeeeeeeeeee", {"bleu": 0.99}, FAILED, top_k=2),
        )

    @pytest.fixture
    def text(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
        return table("crud_rag/7", str(folder), capsys=capsys)

    def test_table_shows_our_number_next_to_the_printed_number(self, text: str) -> None:
        expected = ["8", "0.3000", "0.2900", "0.3100", "0.3976", "-0.0976", "20", "~800", "aaaaaaaa"]
        assert expected in rows_of(text)

    def test_table_reports_whether_our_metric_matches_the_published_definition(self, text: str) -> None:
        assert "bleu: ours is bleu, NOT the published definition" in text
        assert "rouge_l: ours is rouge_l_crud_compat, the published definition" in text

    def test_table_leaves_out_values_of_another_definition(self, text: str) -> None:
        """The second cell has only the plain metric, so it has no value instead of another definition's."""
        block = text[text.index("rouge_l: ours") :]
        assert rows_of(block)[2][:4] == ["create/continuation", "4", "–", "–"]

    def test_table_reports_the_level_of_its_intervals(self, text: str) -> None:
        assert "90% interval" in text

    def test_table_reports_columns_that_no_cell_measured(self, text: str) -> None:
        bert_score = "bert_score (text2vec_similarity_crud_compat): no cell has it; metrics=crud_rag computes it"
        assert f"Column without a number: {bert_score}" in text
        assert "quest_eval_recall_crud_compat): no cell has it; judge=crud_rag computes it" in text

    def test_table_reports_models_that_differ_from_the_paper(self, text: str) -> None:
        assert "all cells: llm=extractive (published: GPT-3.5-turbo)" in text
        assert "all cells: embedder=lsa (published: bge-base)" in text

    def test_table_reports_rows_and_cells_without_a_partner(self, text: str) -> None:
        for row in ("2", "6", "10"):
            assert f"Row without a cell: top_k={row}: " in text
        assert "top_k=2: its cell FAILED (eeeeeeee)" in text
        assert "top_k=6: no cell has top_k=6" in text
        assert "Cells without a row: dddddddd" in text
        assert "differ more from their row than the shown cell: cccccccc" in text
        assert "FAILED, not compared: eeeeeeeeeeee: broken" in text

    def test_table_names_sets_without_a_sample_and_the_reason(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        own = cell("a" * 12, {"bleu": 0.1})
        remaining = {subset: own.metrics[subset] for subset in ("create/continuation", "read/qa_1doc")}
        config = CONFIG | {"dataset": {"subsets": [*remaining, "read/qa_2docs"], "limit": 9}}
        text = table("crud_rag/7", str(write(tmp_path, replace(own, metrics=remaining, config=config))), capsys=capsys)
        assert "Set without a number: delete/summarization: dataset.subsets leaves it out" in text
        assert "read/qa_2docs: no sample of the sweep is in it (dataset.limit=9)" in text
        assert "Set without a number: read/qa_1doc" not in text

    def test_table_names_skipped_sets_of_a_mean(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        axes = {"dataset": "financerag", "expander": "none", "refiner": "none"}
        subsets = ("overall", "finder", "finqabench", "financebench", "tatqa", "finqa", "convfinqa")
        metrics = {subset: {"ndcg@10": entry(0.3)} for subset in subsets}
        dataset = {"name": "financerag", "n_sets_skipped": 1, "sets_skipped": "MultiHiertt"}
        own = CellResult("a" * 12, OK, axes, (), CONFIG, dataset, metrics=metrics)
        text = table("financerag/1", str(write(tmp_path, own)), capsys=capsys)
        (line,) = [each for each in text.splitlines() if each.startswith("Set without")]
        assert line.startswith("Set without a number: multihiertt: it has no corpus, and dataset.skip_missing=true")

    def test_latex_table_is_in_percent_as_the_paper(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = table("crud_rag/7", str(folder), "--metric", "bleu", "--format", "latex", capsys=capsys)
        assert r"bleu, in percent: ours is bleu, NOT the published definition" in text
        (row,) = [line for line in text.splitlines() if line.startswith("create/continuation & 4")]
        assert row.split(" & ")[2:4] == ["40.00$^{*}$", "{[}39.00, 41.00{]}"]
        assert row.split(" & ")[4] == "3.34"
        assert "bbbbbbbb" not in text.partition(r"\end{table}")[0]
        alone = table("crud_rag/4", "--metric", "bleu", "--format", "latex", capsys=capsys)
        assert r"subset & chunk\_overlap\_percent & bleu (\%) \\" in alone
        assert r"delete/summarization & 0 & 23.69 \\" in alone

    def test_table_refuses_cells_on_the_data_of_another_paper(self, tmp_path: Path) -> None:
        own = cell("a" * 12, {"bleu": 0.1}, dataset="omnieval")
        with pytest.raises(DataError, match=r"evaluated on omnieval, so .* Compare cells with dataset=crud_rag"):
            tables.run(parse("crud_rag/7", str(write(tmp_path, own))))

    def test_table_names_the_part_of_the_data(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        own = cell("a" * 12, {"bleu": 0.1}, **{"dataset.max_documents": 2000})
        shown = table("crud_rag/7", str(write(tmp_path, own)), capsys=capsys)
        assert "Part of the data, unlike the paper: dataset.max_documents=2000" in shown

    def test_table_shows_only_the_requested_metrics(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = table("crud_rag/7", str(folder), "--metric", "bleu", capsys=capsys)
        assert "bleu: ours" in text
        assert "rouge_l: ours" not in text

    def test_table_distinguishes_several_cells_of_a_row(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        cells = [cell(name * 12, {"bleu": 0.1}, chunk_size=size) for name, size in (("a", 64), ("b", 256))]
        rows = rows_of(table("crud_rag/7", str(write(tmp_path, *cells)), capsys=capsys))
        assert [row[:3] for row in rows if row[:1] == ["create/continuation"]] == [["create/continuation", "8", "64"]]
        assert ["8", "256", "0.1000"] in [row[:3] for row in rows]

    def test_table_block_fits_into_100_columns(self, folder: Path) -> None:
        cells = tuple(tables.results.load(str(folder)).cells)
        output = io.StringIO()
        comparison = published.compare_with_printed(published.read_table("crud_rag/7"), ["bleu"], cells)
        tables.show_comparison(Console(file=output, width=100), comparison)
        block = output.getvalue().split("\n\n")[1]
        assert "read/qa_1doc" in block
        assert "-0.0235" in block
        assert max(map(len, block.splitlines())) <= 100

    def test_table_omits_metrics_that_the_paper_lacks(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The paper reports no hallucination without retrieval, so our value has no counterpart."""
        config = CONFIG | {"dataset": {"split": "auto"}, "llm": {"model": "Qwen2.5-72B-Instruct"}}
        metrics = {"overall": {"hallucination": entry(0.1), "accuracy": entry(0.3)}}
        axes = BASE | {"dataset": "omnieval", "retriever": "closed_book", "embedder": None, "top_k": None}
        own = CellResult("a" * 12, OK, axes, (), config, {"name": "omnieval"}, metrics=metrics)
        text = table("omnieval/5", str(write(tmp_path, own)), capsys=capsys)
        assert "accuracy: ours" in text
        assert "hallucination: ours" not in text
        assert "Settings other than" not in text

    def test_table_csv_has_every_number(self, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "out.csv"
        table("crud_rag/7", str(folder), "--csv", str(path), capsys=capsys)
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 180
        own = next(row for row in rows if (row["subset"], row["top_k"], row["metric"]) == ("read/qa_1doc", "8", "bleu"))
        assert (own["ours"], own["published"], own["published_n"]) == ("0.3", "0.3976", "800")
        assert (own["our_metric"], own["is_published_definition"], own["cell"]) == ("bleu", "False", "aaaaaaaaaaaa")
        assert "llm=extractive (published: GPT-3.5-turbo)" in own["differs_in"]
        empty = next(row for row in rows if row["top_k"] == "2")
        assert (empty["cell"], empty["ours"], empty["difference"]) == ("", "", "")


class TestProblems:
    def test_table_rejects_a_metric_that_is_not_in_the_table(self) -> None:
        with pytest.raises(DataError, match=r"--metric: got 'ndcg', expected one of bleu, rouge_l"):
            tables.run(parse("crud_rag/3", "--metric", "ndcg"))

    def test_published_table_without_a_sweep_names_the_right_command(self, tmp_path: Path) -> None:
        with pytest.raises(
            DataError, match=r"omnieval/3 is not a sweep.*judge_agreement.* python -m analysis table omnieval/3"
        ):
            tables.run(parse("omnieval/3", str(tmp_path)))

    def test_table_without_a_matching_cell_is_an_error(self, tmp_path: Path) -> None:
        folder = write(tmp_path, cell("a" * 12, {"bleu": 0.1}, chunk_size=100))
        with pytest.raises(
            DataError,
            match=r"(?s)none of the 1 successful cells.*rows: chunk_size=64, top_k=16;.*cells: chunk.size=100, top_k=8",
        ):
            tables.run(parse("crud_rag/3", str(folder)))

    def test_table_command_rejects_a_missing_sweep(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no sweep here"):
            tables.run(parse("crud_rag/3", str(tmp_path)))
