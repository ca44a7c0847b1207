"""The two commands of the study on a part of CRUD-RAG: the part itself, and directions beside the paper's tables."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.crud_directions import Verdict, directions, main, verdict
from benchmarks.crud_part import write_part
from components.datasets.crud_rag import CrudRag
from components.errors import DataError
from components.records import Kind
from tests.analysis import tiny_sweep
from tests.datasets.test_crud_rag import SPLIT
from tests.datasets.test_crud_rag import write as write_crud_rag

N = 12
BASE = {"chunk.size": 128, "top_k": 8, "chunk.overlap": 0.0, "retriever": "dense", "reranker": "none", "embedder": "e5"}
BM25 = {"retriever": "bm25", "reranker": None, "embedder": None}


class TestPart:
    def part(self, tmp_path: Path, name: str = "part", n_documents: int = 1) -> Path:
        root = tmp_path / "whole"
        if not root.exists():
            news = {
                "ID": "9",
                "event": "别处",
                "summary": "无。",
                "text": "这篇报道不在语料库里，一个字也没有。",
                "url": "",
            }
            later = {"ID": "9", "beginning": "别处的报道", "continuing": "还有下文。"}
            split = SPLIT | {
                "event_summary": [*SPLIT["event_summary"], news],
                "continuing_writing": [*SPLIT["continuing_writing"], later],
            }
            write_crud_rag(root, split)
        write_part(root, tmp_path / name, n_documents, n_items=1, seed=0)
        return tmp_path / name

    def test_crud_part_contains_all_gold_of_its_items(self, tmp_path: Path) -> None:
        benchmark = CrudRag(root=str(self.part(tmp_path))).load()
        assert {sample.id for sample in benchmark.samples} == {
            "delete/summarization/1",
            "read/qa_1doc/1",
            "read/qa_2docs/1",
            "read/qa_3docs/1",
            "update/hallucination/doc_1",
        }
        known = set(benchmark.documents.ids)
        assert all(sample.gold and {unit.document_id for unit in sample.gold} <= known for sample in benchmark.samples)
        assert benchmark.notes["n_gold_added"] == 0

    def test_crud_continuations_are_of_news_outside_the_corpus(self, tmp_path: Path) -> None:
        part = self.part(tmp_path)
        benchmark = CrudRag(root=str(part), split_file="crud_split/split_answers.json").load()
        continued = [sample.id for sample in benchmark.samples if sample.kind is Kind.CONTINUATION]
        assert continued == ["create/continuation/9"]

    def test_crud_part_of_a_seed_is_deterministic(self, tmp_path: Path) -> None:
        one, other = self.part(tmp_path, "one"), self.part(tmp_path, "other")
        for file in ("80000_docs/part", "crud_split/split_merged.json", "crud_split/split_answers.json"):
            assert (one / file).read_bytes() == (other / file).read_bytes()


@pytest.mark.parametrize(
    ("published", "ours", "low", "high", "expected"),
    [
        (0.01, 0.2, 0.1, 0.3, Verdict.SHOWN),
        (-0.01, -0.2, -0.3, -0.1, Verdict.SHOWN),
        (0.01, 0.2, -0.1, 0.5, Verdict.SEEN),
        (-0.01, -0.2, -0.5, 0.1, Verdict.SEEN),
        (0.01, -0.2, -0.5, 0.1, Verdict.NOT_SHOWN),
        (0.01, 0.0, 0.0, 0.0, Verdict.NOT_SHOWN),
        (0.01, -0.2, -0.3, -0.1, Verdict.OPPOSITE),
        (-0.01, 0.2, 0.1, 0.3, Verdict.OPPOSITE),
    ],
)
def test_verdict_compares_our_interval_with_the_published_value(
    published: float, ours: float, low: float, high: float, expected: Verdict
) -> None:
    assert verdict(published, ours, low, high) is expected


class TestDirections:
    def sweep(self, folder: Path, *changes: Mapping[str, object], base: Mapping[str, object] = BASE) -> str:
        """A base, and a cell for each change. Each cell scores .1 more than the cell before it."""
        cells = [
            tiny_sweep.TinyCell(
                f"{place:012x}",
                {**base, **change},
                [0.3 + 0.1 * place + 0.01 * (i % (3 + place)) for i in range(N)],
                ids=[f"s{i}" for i in range(N)],
                subsets=["read/qa_1doc"] * N,
                documents=[[f"d{i}"] for i in range(N)],
                topics=[None] * N,
                tasks=[None] * N,
                measured=("overall", "read/qa_1doc"),
            )
            for place, change in enumerate(({}, *changes))
        ]
        return str(tiny_sweep.write(folder / "tiny", cells))

    def found(self, sweep: str) -> dict[str, tuple[float | None, Verdict | None]]:
        lines = directions(sweep, "0" * 12, "rouge_l", "rouge_l", "read/qa_1doc")
        return {line.change: (line.published and round(line.published, 4), line.verdict) for line in lines}

    def test_directions_equal_differences_of_the_printed_rows(self, tmp_path: Path) -> None:
        equal, larger = {"chunk.size": 256, "top_k": 4}, {"chunk.size": 512}
        sweep = self.sweep(tmp_path, equal, larger, {"chunk.overlap": 0.3}, BM25, {"top_k": 2}, {"embedder": "minilm"})
        assert self.found(sweep) == {
            "chunk.size=256, top_k=4": (-0.0104, Verdict.OPPOSITE),
            "chunk.size=512": (None, None),  # the paper's prompts are equally long
            "chunk.overlap=0.3": (0.0016, Verdict.SHOWN),
            "retriever=bm25": (0.0009, Verdict.SHOWN),
            "top_k=2": (-0.0098, Verdict.OPPOSITE),
            "embedder=minilm": (None, None),
        }

    def test_reranker_direction_changes_with_the_retriever(self, tmp_path: Path) -> None:
        sweep = self.sweep(tmp_path, {"retriever": "hybrid_rerank", "reranker": "lexical"})
        assert self.found(sweep) == {"retriever=hybrid_rerank, reranker=lexical": (0.0102, Verdict.SHOWN)}

    def test_embedder_direction_changes_with_the_retriever(self, tmp_path: Path) -> None:
        """A base whose retriever has no embedder (bm25) differs from a base without an embedder."""
        changes = [
            {"retriever": "dense", "reranker": "none", "embedder": name, "vector_index": "flat"}
            for name in ("e5", "minilm")
        ]
        sweep = self.sweep(tmp_path, *changes, base=BASE | BM25 | {"vector_index": None})
        assert self.found(sweep) == {
            "retriever=dense, embedder=e5": (-0.0009, Verdict.OPPOSITE),
            "retriever=dense, embedder=minilm": (-0.0009, Verdict.OPPOSITE),
        }

    def test_direction_of_two_changes_is_refused(self, tmp_path: Path) -> None:
        sweep = self.sweep(tmp_path, {"chunk.overlap": 0.3, "top_k": 2})
        with pytest.raises(DataError, match=r"differs from the base in top_k, chunk\.overlap, expected one axis"):
            self.found(sweep)

    def test_direction_table_names_n_and_groups(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        sweep = self.sweep(tmp_path, {"top_k": 2})
        options = ["--metric", "rouge_l", "--baseline", "0" * 12, "--subset", "read/qa_1doc"]
        assert main([sweep, *options]) == 0
        (line,) = [line for line in capsys.readouterr().out.splitlines() if "top_k=2" in line]
        assert line.startswith("| read/qa_1doc | `top_k=2` | -0.010 | +0.10")
        assert line.endswith(" | 12 (12) | opposite |")
