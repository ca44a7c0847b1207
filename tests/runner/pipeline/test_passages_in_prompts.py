"""The parts of a passage that a prompt can show: its text, the title and the metadata of its document."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from components.chunkers.budget import Unit
from components.chunkers.parents import ParentChunks
from components.chunkers.sentence import SentencePacking
from components.chunkers.structure import SectionPacking
from components.contexts.packed import PackedContext
from components.prompts.by_kind import PromptByKind
from components.records import Benchmark
from components.retrievers.closed_book import ClosedBook
from runner.engine.store import Store
from runner.pipeline.answers.answer_stages import Prompts
from tests.runner.pipeline.fixed import FixedData, bm25, fixed_cell, graph_in, run_all
from tests.runner.sweeping import read_or_make


@dataclass(frozen=True)
class UnknownWords(FixedData):
    """One question, none of whose words is in the corpus."""

    def fingerprint(self) -> str:
        return "unknown words"

    def load(self) -> Benchmark:
        fixed = super().load()
        return replace(fixed, samples=(replace(fixed.samples[0], question="Xyzzy?"),))


def prompts(folder: Path, passage: str, **fields: Any) -> list[str]:
    """The last messages of all samples."""
    cell = fixed_cell(top_k=1, retriever=bm25(), **fields)
    assert isinstance(cell.prompt, PromptByKind)
    store = Store(folder)
    graph = graph_in(store, replace(cell, prompt=replace(cell.prompt, passage=passage)))
    (stage,) = [stage for stage in graph.result.upstream() if stage.kind == "prompts"]
    run_all(store, stage)
    return [messages[-1].content for messages in read_or_make(stage, store)]  # type: ignore[attr-defined]


def test_document_title_and_metadata_reach_the_prompt(tmp_path: Path) -> None:
    bridge, harbour, mill, tower = prompts(tmp_path, "<{n}|{title}|{metadata}|{text}>")
    assert "<1|East/Bridge|place: east|The bridge was opened in 1932." in bridge
    assert "<1|East/Harbour|place: east|" in harbour
    assert "<1|West/Mill|place: west|" in mill
    assert "<1|West/Tower|place: west|" in tower


def test_titles_and_metadata_reach_prompts_of_parallel_corpora(tmp_path: Path) -> None:
    found = prompts(tmp_path, "<{title}|{metadata}>", dataset=FixedData(side_by_side=True))
    titles = ("East/Bridge|place: east", "East/Harbour|place: east", "West/Mill|place: west", "West/Tower|place: west")
    assert all(f"<{title}>" in prompt for title, prompt in zip(titles, found, strict=True))


def test_overlapping_neighbours_are_merged_without_repeated_text(tmp_path: Path) -> None:
    """Each chunk begins with half of its predecessor."""
    halves = SentencePacking(size=60, overlap=0.5, unit=Unit.CHAR)
    (bridge, *_) = prompts(tmp_path, "<{n}|{text}>", chunk=halves, context=PackedContext(window=9))
    whole = "The bridge was opened in 1932. It crosses the river in the east. Trains still use it every day."
    assert f"Sources:\n<1|{whole}>\n" in bridge


def test_merging_changes_no_passage_without_adjacent_chunks(tmp_path: Path) -> None:
    apart = prompts(tmp_path / "apart", "<{n}|{text}>")
    assert prompts(tmp_path / "merged", "<{n}|{text}>", context=PackedContext(merge=True)) == apart


def test_retrieval_without_hits_has_another_prompt_than_closed_book(tmp_path: Path) -> None:
    store = Store(tmp_path)
    nothing = bm25(max_share_without_hits=1.0)
    found = {}
    for name, retriever in {"nothing found": nothing, "closed book": ClosedBook()}.items():
        graph = graph_in(store, fixed_cell(retriever=retriever, dataset=UnknownWords()))
        (stage,) = [stage for stage in graph.result.upstream() if isinstance(stage, Prompts)]
        run_all(store, stage)
        ((message,),) = read_or_make(stage, store)
        found[name] = message.content
    assert found["nothing found"].startswith("Sources:\n(nothing)")
    assert found["closed book"].startswith("Sources:\n(none)")


@dataclass(frozen=True)
class WithHeadings(FixedData):
    def fingerprint(self) -> str:
        return "with headings"

    def load(self) -> Benchmark:
        fixed = super().load()
        texts = [f"# Heading\n\n{text}" for text in fixed.documents.texts]
        return replace(fixed, documents=replace(fixed.documents, texts=texts))


def test_chunk_metadata_is_shown_with_document_metadata(tmp_path: Path) -> None:
    shown = prompts(
        tmp_path,
        "<{section}|{page}|{place}|{metadata}>",
        dataset=WithHeadings(),
        chunk=ParentChunks(SentencePacking(size=30, unit=Unit.CHAR), SectionPacking()),
    )
    assert "<Heading||east|place: east; section: Heading>" in shown[0]


def test_unknown_passage_facts_are_left_out_of_the_prompt(tmp_path: Path) -> None:
    assert "<|||east>" in prompts(tmp_path, "<{section}|{page}|{date}|{place}>")[0]
