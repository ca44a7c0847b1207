"""The FinanceRAG challenge: small sets, and the real ones if they are available."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.datasets.financerag import SETS, FinanceRag, QrelsFile, QueriesFile
from components.errors import ConfigError, DataError
from components.protocols import Dataset
from components.records import Evidence
from tests.contracts.dataset_contract import DatasetContract
from tests.datasets.test_beir import write_lines
from tests.runner.sweeping import QUIET, RANKING_ONLY, cells_in, run_small

TWO = ("FinQABench", "TATQA")
SIZES = ("n_documents", "n_queries", "n_queries_labelled", "share_labelled")


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
    def test_every_financerag_set_is_a_subset_with_its_own_corpus(self, tmp_path: Path) -> None:
        benchmark = loader(write(tmp_path)).load()
        assert list(benchmark.documents.ids) == ["finqabench/d1", "finqabench/d2", "tatqa/d1", "tatqa/d2"]
        sample = benchmark.samples[2]
        assert (sample.id, sample.subset, sample.corpus_prefix) == ("tatqa/q1", "tatqa", "tatqa/")
        assert (sample.gold, sample.references) == ((Evidence("tatqa/d1"),), ("one, two",))
        assert benchmark.labels == {"finqabench": "FinQABench", "tatqa": "TATQA"}

    def test_financerag_notes_count_queries_and_labels(self, tmp_path: Path) -> None:
        notes = loader(write(tmp_path)).load().notes
        for subset in ("finqabench", "tatqa"):
            assert (notes[f"n_documents_{subset}"], notes[f"n_queries_{subset}"]) == (2, 2)
            assert (notes[f"n_queries_labelled_{subset}"], notes[f"share_labelled_{subset}"]) == (1, 0.5)
        assert (notes["n_documents"], notes["n_queries"], notes["n_queries_labelled"]) == (4, 4, 2)
        assert (notes["share_labelled"], notes["n_queries_without_qrels"]) == (0.5, 2)
        assert notes["n_sets_skipped"] == 0
        assert "sets_skipped" not in notes

    def test_prepared_queries_replace_the_question_in_searches_only(self, tmp_path: Path) -> None:
        benchmark = loader(write(tmp_path), queries=QueriesFile.PREPARED).load()
        assert benchmark.samples[0].question == "Which is FinQABench 1?"
        assert benchmark.samples[0].query == "Which is FinQABench 1? keywords"
        assert benchmark.samples[1].query == ""
        assert benchmark.notes["n_queries_not_prepared"] == 2

    def test_queries_both_keep_prepared_queries_as_expansions(self, tmp_path: Path) -> None:
        original, prepared, both = (loader(write(tmp_path), queries=queries).load() for queries in QueriesFile)
        assert [sample.expansion for sample in both.samples] == [sample.query for sample in prepared.samples]
        assert [replace(sample, expansion="") for sample in both.samples] == list(original.samples)
        assert both.notes == prepared.notes

    def test_prepared_queries_change_the_fingerprint_only_if_they_are_read(self, tmp_path: Path) -> None:
        loaders = [loader(write(tmp_path), queries=queries) for queries in QueriesFile]
        before = [dataset.fingerprint() for dataset in loaders]
        write_lines(tmp_path / "TATQA" / "queries_prep.jsonl", [{"_id": "q1", "text": "other keywords"}])
        original, prepared, both = [dataset.fingerprint() for dataset in loaders]
        assert original == before[0]
        assert prepared != before[1]
        assert both != before[2]

    def test_full_qrels_are_used_for_sets_that_have_them(self, tmp_path: Path) -> None:
        benchmark = loader(write(tmp_path), qrels=QrelsFile.FULL).load()
        assert [bool(sample.gold) for sample in benchmark.samples] == [True, False, True, True]
        assert benchmark.notes["n_sets_without_full_qrels"] == 1
        assert benchmark.notes["sets_without_full_qrels"] == "FinQABench"

    def test_limit_keeps_samples_of_every_set(self, tmp_path: Path) -> None:
        assert {s.subset for s in loader(write(tmp_path), limit=2).load().samples} == {"finqabench", "tatqa"}


class TestMissing:
    def test_set_without_a_corpus_names_the_file_and_the_settings(self, tmp_path: Path) -> None:
        message = r"FinDER/corpus\.jsonl: does not exist .*dataset\.sets=.*dataset\.skip_missing=true"
        with pytest.raises(DataError, match=message):
            loader(write(tmp_path), sets=("FinDER", "TATQA")).load()

    def test_skip_missing_omits_and_names_missing_sets(self, tmp_path: Path) -> None:
        benchmark = FinanceRag(str(write(tmp_path)), skip_missing=True).load()
        assert {sample.subset for sample in benchmark.samples} == {"finqabench", "tatqa"}
        assert benchmark.notes["n_sets_skipped"] == 5
        assert benchmark.notes["sets_skipped"] == "FinDER, FinanceBench, FinQA, ConvFinQA, MultiHiertt"

    def test_skip_missing_without_any_set_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"none of the sets FinQA has a corpus\.jsonl"):
            loader(write(tmp_path), sets=("FinQA",), skip_missing=True).load()

    def test_missing_prepared_queries_are_an_error(self, tmp_path: Path) -> None:
        (write(tmp_path) / "TATQA" / "queries_prep.jsonl").unlink()
        with pytest.raises(DataError, match=r"queries_prep\.jsonl: does not exist"):
            loader(tmp_path, queries=QueriesFile.PREPARED).load()

    def test_empty_corpus_of_one_set_is_rejected(self, tmp_path: Path) -> None:
        write_lines(write(tmp_path) / "TATQA" / "corpus.jsonl", [])
        with pytest.raises(DataError, match=r"TATQA/corpus\.jsonl: none of its 0 documents has a text"):
            loader(tmp_path).load()

    @pytest.mark.parametrize("sets", [("Finqa",), (), ("FinQA", "FinQA")])
    def test_financerag_rejects_unknown_missing_and_repeated_sets(self, sets: tuple[str, ...]) -> None:
        (problem,) = FinanceRag("x", sets=sets).check()
        assert problem == f"sets: got {list(sets)}, expected at least one of {', '.join(SETS)}, each once"
        with pytest.raises(ConfigError, match="sets: got"):
            FinanceRag("x", sets=sets).load()

    def test_financerag_rejects_an_empty_root_and_zero_limit(self) -> None:
        root, limit = FinanceRag("", limit=0).check()
        assert root.startswith("root: is empty, expected the folder that holds the sets")
        assert limit == "limit: got 0, expected at least 1, or null for all samples"


def test_financerag_link_out_of_the_root_is_rejected(tmp_path: Path) -> None:
    root = write(tmp_path / "data")
    file = root / TWO[0] / "queries.jsonl"
    file.rename(tmp_path / "outside")
    file.symlink_to(tmp_path / "outside")
    with pytest.raises(
        DataError, match=rf"queries\.jsonl: is a link to {tmp_path}/outside, outside of {root}, expected"
    ):
        loader(root).load()


@pytest.fixture
def real(shared_data: Path) -> Path:
    return shared_data / "financerag"


class TestRealFiles:
    def test_real_financerag_files_have_the_published_counts(self, real: Path) -> None:
        benchmark = FinanceRag(str(real), skip_missing=True).load()
        notes = benchmark.notes
        sizes = [[notes[f"{size}_{subset}"] for size in SIZES] for subset in ("finqabench", "financebench", "tatqa")]
        assert sizes == [[92, 100, 30, 0.3], [180, 150, 45, 0.3], [555, 1639, 496, 0.3026]]
        assert (len(benchmark.documents), len(benchmark.samples), notes["share_labelled"]) == (827, 1889, 0.3023)
        assert notes["n_queries_without_qrels"] == 1889 - 571
        assert notes["n_qrels_of_unknown_queries"] == notes["n_qrels_of_unknown_documents"] == 2
        assert notes["n_gold_units_not_in_corpus"] == 0
        assert notes["n_samples_without_reference"] == 100
        assert notes["sets_skipped"] == "FinDER, FinQA, ConvFinQA, MultiHiertt"

    def test_full_financerag_judgements_label_every_query(self, real: Path) -> None:
        benchmark = FinanceRag(str(real), sets=("FinanceBench", "TATQA"), qrels=QrelsFile.FULL).load()
        assert benchmark.notes["n_queries_labelled"] == 1789
        assert sum(len(sample.gold) for sample in benchmark.samples) == 189 + 1639
        assert "sets_without_full_qrels" not in benchmark.notes

    def test_every_real_financerag_query_is_prepared(self, real: Path) -> None:
        benchmark = FinanceRag(str(real), skip_missing=True, queries=QueriesFile.PREPARED).load()
        others = [s for s in benchmark.samples if not s.query.startswith(s.question.strip())]
        assert len(others) == 1, "one published text has the keywords, and another question before them"
        assert benchmark.notes["n_queries_not_prepared"] == 0
        assert benchmark.notes["n_prepared_of_unknown_queries"] == 24

    def test_real_financerag_answers_are_read(self, real: Path) -> None:
        benchmark = FinanceRag(str(real), sets=("FinQABench", "FinanceBench", "TATQA")).load()
        references = {sample.id: sample.references for sample in benchmark.samples}
        assert references["financebench/qd2ac917a"] == ("101.5%",)
        assert references["tatqa/q1a73c1d4"] == ("2019, 2018",)
        assert references["tatqa/q1a72ef98"] == ("$(52,982)", "$(52,982) thousand")
        assert references["finqabench/q4aa0b116"] == ()

    def test_financerag_titles_precede_the_text(self, real: Path) -> None:
        documents = FinanceRag(str(real), sets=("FinanceBench",)).load().documents
        place = list(documents.ids).index("financebench/dd2af2336")
        assert documents.texts[place].startswith("PEPSICO_2022_10K\n6) Africa, Middle East and South Asia")

    @pytest.mark.parametrize("name", ["FinDER", "FinQA", "ConvFinQA", "MultiHiertt"])
    def test_sets_without_a_corpus_report_the_missing_file(self, real: Path, name: str) -> None:
        with pytest.raises(DataError, match=rf"{name}/corpus\.jsonl: does not exist"):
            FinanceRag(str(real), sets=(name,)).load()

    def test_financerag_sweep_logs_ndcg_per_set_macro_and_micro(self, real: Path, tmp_path: Path) -> None:
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
