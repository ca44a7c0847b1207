"""The FinanceRAG challenge: small sets, and the real ones where they are present."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from components.datasets.financerag import FinanceRag, Judgements, Queries
from components.errors import DataError
from components.protocols import Dataset
from components.records import Evidence
from tests.contracts.dataset_contract import DatasetContract
from tests.datasets.test_beir import write_lines
from tests.runner.sweeping import QUIET, RANKING_ONLY, cells_in, run_small

_REPOSITORY = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("RAG_GRID_SHARED", _REPOSITORY.parent / "shared")) / "data" / "financerag"
TWO = ("FinQABench", "TATQA")


def write(root: Path) -> Path:
    """Two sets with a corpus, whose ids are the same, and one without."""
    for name in TWO:
        folder = root / name
        write_lines(folder / "corpus.jsonl", [{"_id": f"d{i}", "title": "", "text": f"{name} {i}"} for i in (1, 2)])
        write_lines(folder / "queries.jsonl", [{"_id": f"q{i}", "text": f"Which is {name} {i}?"} for i in (1, 2)])
        write_lines(folder / "queries_prep.jsonl", [{"_id": "q1", "text": f"Which is {name} 1? keywords"}])
        (folder / "qrels.tsv").write_text("query_id\tcorpus_id\tscore\nq1\td1\t1\n")
    (root / "TATQA" / "qrels_full.tsv").write_text("query_id\tcorpus_id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    write_lines(root / "TATQA" / "answers.jsonl", [{"_id": "q1", "answer": ["one", "two"]}])
    write_lines(root / "FinDER" / "queries.jsonl", [{"_id": "q", "text": "?"}])
    return root


def loader(root: Path, **fields: Any) -> FinanceRag:
    return FinanceRag(str(root), **{"sets": TWO, **fields})


class TestContract(DatasetContract):
    references_required = False

    @pytest.fixture(autouse=True)
    def written(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.component = loader(write(tmp_path_factory.mktemp("financerag")))

    component: Dataset = FinanceRag("somewhere")

    def with_one_byte_more(self, tmp_path: Path) -> Sequence[Dataset]:
        names = ("", "FinQABench/corpus.jsonl", "TATQA/queries.jsonl", "TATQA/qrels.tsv", "TATQA/answers.jsonl")
        copies = []
        for number, longer in enumerate(names):
            root = write(tmp_path / str(number))
            if longer:
                (root / longer).write_bytes((root / longer).read_bytes() + b"\n")
            copies.append(loader(root))
        return copies


class TestLoading:
    def test_every_set_is_a_subset_with_a_corpus_of_its_own(self, tmp_path: Path) -> None:
        benchmark = loader(write(tmp_path)).load()
        assert list(benchmark.documents.ids) == ["finqabench/d1", "finqabench/d2", "tatqa/d1", "tatqa/d2"]
        sample = benchmark.samples[2]
        assert (sample.id, sample.subset, sample.within) == ("tatqa/q1", "tatqa", "tatqa/")
        assert (sample.gold, sample.references) == ((Evidence("tatqa/d1"),), ("one, two",))
        assert benchmark.labels == {"finqabench": "FinQABench", "tatqa": "TATQA"}

    def test_notes(self, tmp_path: Path) -> None:
        notes = loader(write(tmp_path)).load().notes
        assert (notes["n_queries_tatqa"], notes["n_labelled_tatqa"], notes["share_labelled_tatqa"]) == (2, 1, 0.5)
        assert (notes["share_labelled"], notes["n_sets_skipped"]) == (0.5, 0)

    def test_prepared_queries_are_searched_for_and_not_asked(self, tmp_path: Path) -> None:
        benchmark = loader(write(tmp_path), queries=Queries.PREPARED).load()
        assert benchmark.samples[0].question == "Which is FinQABench 1?"
        assert benchmark.samples[0].query == "Which is FinQABench 1? keywords"
        assert benchmark.samples[1].query == ""
        assert benchmark.notes["n_queries_not_prepared_tatqa"] == 1

    def test_full_judgements_where_there_are_any(self, tmp_path: Path) -> None:
        benchmark = loader(write(tmp_path), qrels=Judgements.FULL).load()
        assert [bool(sample.gold) for sample in benchmark.samples] == [True, False, True, True]
        assert (benchmark.notes["has_full_qrels_finqabench"], benchmark.notes["has_full_qrels_tatqa"]) == (0, 1)

    def test_a_limit_takes_of_every_set(self, tmp_path: Path) -> None:
        assert {s.subset for s in loader(write(tmp_path), limit=2).load().samples} == {"finqabench", "tatqa"}


class TestMissing:
    def test_a_set_without_a_corpus_names_the_file_and_the_ways_out(self, tmp_path: Path) -> None:
        message = r"FinDER/corpus\.jsonl: no such file .*dataset\.sets=.*dataset\.skip_missing=true"
        with pytest.raises(DataError, match=message):
            loader(write(tmp_path), sets=("FinDER", "TATQA")).load()

    def test_or_is_left_out_and_named(self, tmp_path: Path) -> None:
        benchmark = FinanceRag(str(write(tmp_path)), skip_missing=True).load()
        assert {sample.subset for sample in benchmark.samples} == {"finqabench", "tatqa"}
        assert benchmark.notes["n_sets_skipped"] == 5
        assert benchmark.notes["sets_skipped"] == "FinDER, FinanceBench, FinQA, ConvFinQA, MultiHiertt"

    def test_none_at_all_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"none of the sets FinQA has a corpus\.jsonl"):
            loader(write(tmp_path), sets=("FinQA",), skip_missing=True).load()

    def test_prepared_queries_that_are_missing(self, tmp_path: Path) -> None:
        (write(tmp_path) / "TATQA" / "queries_prep.jsonl").unlink()
        with pytest.raises(DataError, match=r"queries_prep\.jsonl: no such file"):
            loader(tmp_path, queries=Queries.PREPARED).load()

    @pytest.mark.parametrize(
        ("sets", "mistake"), [(("Finqa",), "sets: got Finqa, wanted any of FinDER"), ((), "sets: got \\[\\], wanted")]
    )
    def test_names_of_sets(self, sets: tuple[str, ...], mistake: str) -> None:
        with pytest.raises(AssertionError, match=mistake):
            assert FinanceRag("x", sets=sets).check() == []


@pytest.fixture
def real() -> Path:
    if not REAL.is_dir():
        pytest.skip(f"no {REAL}: set RAG_GRID_SHARED to the folder that holds data/")
    return REAL


class TestRealFiles:
    def test_counts(self, real: Path) -> None:
        benchmark = FinanceRag(str(real), skip_missing=True).load()
        notes = benchmark.notes
        expected = {"finqabench": (92, 100, 30), "financebench": (180, 150, 45), "tatqa": (555, 1639, 496)}
        for subset, (n_documents, n_queries, n_labelled) in expected.items():
            assert sum(name.startswith(f"{subset}/") for name in benchmark.documents.ids) == n_documents
            assert (notes[f"n_queries_{subset}"], notes[f"n_labelled_{subset}"]) == (n_queries, n_labelled)
        assert notes["n_qrels_of_unknown_queries_tatqa"] == 2
        assert notes["sets_skipped"] == "FinDER, FinQA, ConvFinQA, MultiHiertt"
        assert 0.25 < float(notes["share_labelled"]) < 0.35

    def test_full_judgements_label_every_query(self, real: Path) -> None:
        notes = FinanceRag(str(real), sets=("FinanceBench", "TATQA"), qrels=Judgements.FULL).load().notes
        assert (notes["share_labelled_financebench"], notes["share_labelled_tatqa"]) == (1.0, 1.0)

    def test_every_query_is_prepared(self, real: Path) -> None:
        benchmark = FinanceRag(str(real), skip_missing=True, queries=Queries.PREPARED).load()
        assert all(sample.query for sample in benchmark.samples)
        assert benchmark.notes["n_queries_not_prepared_tatqa"] == 0

    def test_a_sweep_logs_ndcg_per_set_macro_and_micro(self, real: Path, tmp_path: Path) -> None:
        sets = json.dumps(["FinanceBench", "FinQABench", "TATQA"]).replace('"', "")
        data = ("dataset=financerag", f"dataset.root={real}", f"dataset.sets={sets}", "dataset.limit=null")
        english = ("tokenizer=english", "prompt=english", "llm=none", *RANKING_ONLY, *QUIET)
        one, other = ("retriever=bm25", *data, *english), ("retriever=hybrid", "embedder=lsa", *data, *english)
        assert run_small(tmp_path, one, other) == 0
        for cell in cells_in(tmp_path):
            values = [cell.value("ndcg@10", subset) for subset in ("financebench", "finqabench", "tatqa")]
            macro, micro = cell.value("ndcg@10", "macro"), cell.value("ndcg@10")
            assert all(value is not None and 0.3 < value < 0.95 for value in values)
            assert macro == pytest.approx(sum(v for v in values if v is not None) / 3)
            assert micro is not None
            assert cell.metrics["overall"]["ndcg@10"]["n"] == 571
            assert cell.counts == {"not_asked": 1889}
