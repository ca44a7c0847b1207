"""Published numbers: all of them are reproduced as printed, and cells are matched with the right rows."""

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from analysis import published
from analysis.published import TABLES, PrintedTable
from components.errors import DataError
from runner.results import CellResult

SHARED = Path(os.environ.get("RAG_GRID_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "published"
FILES = {
    "crud_rag/3": "crud_rag_table3_chunk_size",
    "crud_rag/4": "crud_rag_table4_chunk_overlap_percent",
    "crud_rag/5": "crud_rag_table5_retriever",
    "crud_rag/6": "crud_rag_table6_embedding",
    "crud_rag/7": "crud_rag_table7_top_k",
    "crud_rag/8": "crud_rag_table8_llm",
    "omnieval/2": "omnieval_table2_corpus",
    "omnieval/3": "omnieval_table3_judges",
    "omnieval/4": "omnieval_table4_retrievers",
    "omnieval/5": "omnieval_table5_generators",
    "financerag/1": "financerag_table1_pre_retrieval",
}
N_NUMBERS = {
    "crud_rag/3": 144,
    "crud_rag/4": 180,
    "crud_rag/5": 144,
    "crud_rag/6": 144,
    "crud_rag/7": 180,
    "crud_rag/8": 288,
    "omnieval/2": 12,
    "omnieval/3": 14,
    "omnieval/4": 72,
    "omnieval/5": 96,
    "financerag/1": 12,
}
PERCENT = {"crud_rag/3", "crud_rag/4", "crud_rag/5", "crud_rag/6", "crud_rag/7", "crud_rag/8", "omnieval/3"}


def cell(name: str = "x", config: dict[str, Any] | None = None, **axes: Any) -> CellResult:
    """A cell of the paper's base, with other axis values; "chunk_size" stands for "chunk.size"."""
    base = {
        "dataset": "crud_rag",
        "chunk.size": 128,
        "chunk.overlap": 0.0,
        "retriever": "dense",
        "embedder": "lsa",
        "top_k": 8,
        "llm": "extractive",
    }
    own = {axis.replace("chunk_", "chunk."): value for axis, value in axes.items()}
    return CellResult(name, "OK", base | own, (), config or {}, {"name": "crud_rag"})


def beside(table: str, *cells: CellResult) -> dict[str, str]:
    """Return the row next to each cell, by cell id."""
    pairs = published.pair(published.read_table(table), cells).pairs
    return {pair.cell.cell_id: " ".join(level for _, level in pair.row) for pair in pairs}


@pytest.mark.parametrize("name", TABLES)
class TestNumbers:
    @pytest.fixture
    def table(self, name: str) -> PrintedTable:
        return published.read_table(name)

    def test_published_table_has_the_expected_number_of_values(self, name: str, table: PrintedTable) -> None:
        assert len(table.numbers) == N_NUMBERS[name]
        assert len({(number.row, number.subset, number.metric) for number in table.numbers}) == N_NUMBERS[name]

    def test_published_shares_are_between_0_and_1(self, table: PrintedTable) -> None:
        for number in table.numbers:
            if number.unit in ("percent", "fraction"):
                assert 0 < number.value < 1
            else:
                assert number.value > 1

    def test_published_numbers_equal_the_shared_csv_files(self, name: str, table: PrintedTable) -> None:
        path = SHARED / f"{FILES[name]}.csv"
        if not path.exists():
            pytest.skip(f"no {path}")
        expected: dict[tuple[frozenset[str], str], float] = {}
        metrics = set(table.metrics)
        with path.open(encoding="utf-8", newline="") as file:
            for record in csv.DictReader(file):
                task = record.get("task", "")
                record |= {"task": f"{task}s"} if task in ("read/qa_2doc", "read/qa_3doc") else {}
                levels = frozenset(value for column, value in record.items() if column not in metrics)
                for metric in metrics:
                    if record[metric]:
                        scale = 100 if name in PERCENT and metric != "length" else 1
                        expected[levels, metric] = float(record[metric]) / scale
        found = {(frozenset({*dict(n.row).values(), n.subset} - {"overall"}), n.metric): n.value for n in table.numbers}
        assert found == pytest.approx(expected, abs=1e-12)

    def test_every_row_of_a_published_sweep_has_matching_axes(self, table: PrintedTable) -> None:
        if table.info.is_sweep:
            for row in table.rows:
                assert table.own_levels(row)
                assert all(level.axes for level in table.base_levels(row))

    def test_every_published_metric_has_a_local_name(self, table: PrintedTable) -> None:
        if table.info.is_sweep:
            assert set(table.metrics) <= set(table.info.paper.metrics)

    def test_each_table_cites_its_paper(self, table: PrintedTable) -> None:
        paper = table.info.paper
        assert paper.authors.split(",")[0].split()[0] in str(paper)
        assert str(paper.year) in str(paper)
        assert paper.url.startswith("https://")


def test_crud_rag_base_has_equal_numbers_in_all_its_tables() -> None:
    found = []
    for number in range(3, 9):
        table = published.read_table(f"crud_rag/{number}")
        base = table.info.paper.base
        own = [n for n in table.numbers if all(base[column] == level for column, level in n.row)]
        found.append({(n.subset, n.metric): n.value for n in own})
    assert len(found[0]) == 36
    assert all(one == found[0] for one in found)


def test_omnieval_tables_agree_on_their_common_model() -> None:
    retrievers, generators = published.read_table("omnieval/4"), published.read_table("omnieval/5")
    by_generator = {
        (dict(n.row)["split"], n.metric): n.value
        for n in generators.numbers
        if dict(n.row)["retriever"] == "GTE-Qwen2-1.5B" and dict(n.row)["generator"] == "Qwen2.5-72B"
    }
    by_retriever = {
        (dict(n.row)["split"], n.metric): n.value
        for n in retrievers.numbers
        if dict(n.row)["retriever"] == "GTE-Qwen2-1.5B" and n.metric not in ("map", "mrr")
    }
    assert len(by_generator) == 14
    assert by_generator == by_retriever


def test_known_numbers_of_published_tables_are_transcribed() -> None:
    numbers = {(dict(n.row)["chunk_size"], n.subset, n.metric): n for n in published.read_table("crud_rag/3").numbers}
    assert numbers["512", "read/qa_3docs", "quest_eval_recall"].value == 0.5738
    assert numbers["64", "update/hallucination", "length"].value == 60.7
    assert published.read_table("omnieval/3").numbers[-2].value == 0.6486


def test_published_closed_book_rows_have_no_hallucination_or_utilization() -> None:
    metrics = {n.metric for n in published.read_table("omnieval/5").numbers if ("retriever", "Close-Book") in n.row}
    assert not metrics & {"hallucination", "utilization"}


def test_unknown_published_table_lists_the_known_tables() -> None:
    with pytest.raises(DataError, match=r"got the table 'crud_rag/9', expected one of crud_rag/3, crud_rag/4"):
        published.read_table("crud_rag/9")


def test_sweep_in_place_of_a_published_table_suggests_compare() -> None:
    with pytest.raises(DataError, match="python -m analysis compare SWEEP --format latex"):
        published.read_table("latest")


class TestPairing:
    def test_published_rows_are_matched_by_axis_value(self) -> None:
        cells = [cell("a", chunk_size=64, top_k=16), cell("b"), cell("c", chunk_size=64), cell("d", top_k=6)]
        assert beside("crud_rag/3", *cells) == {"a": "64 16", "b": "128 8"}
        assert beside("crud_rag/7", *cells) == {"b": "8", "d": "6"}

    def test_published_percentages_match_our_shares(self) -> None:
        assert beside("crud_rag/4", cell("a", chunk_overlap=0.3), cell("b")) == {"a": "30", "b": "0"}

    def test_published_rows_are_matched_by_group_option(self) -> None:
        cells = [cell("a", retriever="bm25", embedder=None), cell("b", retriever="hybrid_rerank")]
        assert beside("crud_rag/5", *cells) == {"a": "BM25", "b": "Hybrid+Rerank"}

    @pytest.mark.parametrize(
        ("model", "row"),
        [
            ("BAAI/bge-base-zh-v1.5", "bge-base"),
            ("/models/gte-base-zh/", "gte-base"),
            ("BAAI/bge-large-zh", None),
        ],
    )
    def test_published_rows_are_matched_by_model_name(self, model: str, row: str | None) -> None:
        own = cell("a", {"embedder": {"model": model}}, embedder="sentence_transformer")
        assert beside("crud_rag/6", own) == ({"a": row} if row else {})

    def test_published_model_is_not_matched_by_a_name_prefix(self) -> None:
        cells = [
            cell(name, {"llm": {"model": name}}, llm="openai") for name in ("gpt-4o", "gpt-4o-mini", "Qwen/Qwen-7B")
        ]
        assert beside("crud_rag/8", *cells) == {"gpt-4o": "GPT-4o", "Qwen/Qwen-7B": "Qwen-7B"}

    def test_published_setting_that_is_not_an_axis_selects_no_cell(self) -> None:
        own = cell("a", {"dataset": {"split": "auto"}}, dataset="omnieval", retriever="dense", embedder="bge-m3")
        assert beside("omnieval/4", own) == {"a": "auto_generated BGE-M3"}

    def test_published_closed_book_row_is_matched_without_an_embedder(self) -> None:
        own = cell(
            "a",
            {"dataset": {"split": "human"}, "llm": {"model": "Qwen/Qwen2.5-72B-Instruct"}},
            dataset="omnieval",
            retriever="closed_book",
            embedder=None,
            top_k=None,
        )
        assert beside("omnieval/5", own) == {"a": "human_annotated Close-Book Qwen2.5-72B"}

    def test_published_row_takes_the_cell_nearest_to_the_base(self) -> None:
        cells = [
            cell("far", top_k=4, chunk_overlap=0.5),
            cell("near", top_k=4),
            cell("closed", retriever="closed_book"),
        ]
        paired = published.pair(published.read_table("crud_rag/7"), cells)
        assert [own.cell.cell_id for own in paired.pairs] == ["near", "closed"]
        assert [own.cell_id for own in paired.farther] == ["far"]

    def test_cell_with_unused_axes_is_not_nearer_to_the_base(self) -> None:
        """A cell without retrieval has no embedder that could differ; the dense cell equals the paper's."""
        closed = cell("closed", retriever="closed_book", embedder=None, top_k=None, llm="gpt-4o")
        paired = published.pair(published.read_table("crud_rag/8"), [closed, cell("dense", llm="gpt-4o")])
        assert [own.cell.cell_id for own in paired.pairs] == ["dense"]

    def test_pairs_report_their_differences_from_the_paper(self) -> None:
        own = cell("a", {"llm": {"model": "gpt-4o"}}, dataset="demo", chunk_size=64, llm="openai")
        (pair,) = published.pair(published.read_table("crud_rag/7"), [own]).pairs
        assert [str(difference) for difference in pair.differences] == [
            "dataset=demo (published: CRUD-RAG)",
            "chunk.size=64 (published: 128)",
            "embedder=lsa (published: bge-base)",
            "llm=gpt-4o (published: GPT-3.5-turbo)",
        ]

    def test_unused_axis_is_not_a_difference_from_the_paper(self) -> None:
        own = cell("a", retriever="bm25", embedder=None, llm="gpt-3.5-turbo")
        (pair,) = published.pair(published.read_table("crud_rag/5"), [own]).pairs
        assert pair.differences == ()

    def test_pairing_lists_rows_and_cells_without_a_partner(self) -> None:
        paired = published.pair(published.read_table("crud_rag/5"), [cell("a"), cell("b", retriever="closed_book")])
        assert [dict(row)["retriever"] for row in paired.rows_without_cell] == ["BM25", "Hybrid", "Hybrid+Rerank"]
        assert [own.cell_id for own in paired.cells_without_row] == ["b"]

    def test_financerag_rows_are_matched_by_expander_and_refiner(self) -> None:
        own = [
            cell(f"{expander} {refiner}", dataset="financerag", expander=expander, refiner=refiner)
            for expander in ("history", "published", "paraphrase", "hyde")
            for refiner in ("none", "summary", "tables")
        ]
        paired = published.pair(published.read_table("financerag/1"), own)
        assert paired.rows_without_cell == ()
        assert {pair.cell.cell_id for pair in paired.pairs} == {each.cell_id for each in own}
