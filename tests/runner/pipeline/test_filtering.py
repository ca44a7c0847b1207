"""A filter leaves out documents before the depth is cut, and searches no more than that takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.chunkers.sentence import SentencePacking
from components.errors import ConfigError
from components.filters.metadata import ByMetadata
from components.protocols import Retriever
from components.records import Benchmark, Condition, Hits
from components.retrievers.dense import Dense
from components.vector_indexes.faiss_index import Flat
from runner.engine.store import Store
from runner.launch.sweep import EXIT_OK
from runner.pipeline.search.filtering import FilteredHits
from runner.pipeline.search.searching import Search
from tests.runner.pipeline.fixed import (
    FixedData,
    LetterCounts,
    LetterHeads,
    bm25,
    fixed_cell,
    graph_in,
    run_all,
    three_way,
)
from tests.runner.sweeping import RANKING_ONLY, cells_in, own_data, plan_small, read_or_make, run_small, samples_in

SMALL_CHUNKS = SentencePacking(size=8, overlap=0.0, unit=fixed_cell().chunk.unit)
WEST = ByMetadata({"place": Condition(("west",))})


@dataclass(frozen=True)
class AskedOfPlaces(FixedData):
    """The fixed data set, whose samples search in the other place; the last one in none."""

    def load(self) -> Benchmark:
        benchmark = super().load()
        places = ("west", "west", "east", "north")
        samples = [
            replace(sample, conditions=(("place", Condition((place,))),))
            for sample, place in zip(benchmark.samples, places, strict=True)
        ]
        return replace(benchmark, samples=tuple(samples))


def hits_and_all(store: Store, **fields: Any) -> list[tuple[Hits, Hits, Sequence[int]]]:
    """Return, for every search: filtered hits, hits without the filter, and the row of each chunk's document."""
    graph = graph_in(store, fixed_cell(**fields))
    run_all(store, graph.result)
    found = []
    for stage in graph.result.upstream():
        if isinstance(stage, FilteredHits):
            everything = replace(stage.search, depth=1000)
            for part in everything.upstream():
                read_or_make(part, store)
            chunks = read_or_make(stage.chunks, store)
            found.append((read_or_make(stage, store), read_or_make(everything, store), chunks.document.tolist()))
    return found


RETRIEVERS = {
    "terms": replace(bm25(), depth=2),
    "vectors": Dense(LetterCounts(), Flat(), depth=2),
    "all by late interaction": three_way(LetterHeads(), depth=2, exhaustive=True),
}


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=RETRIEVERS)
def test_filtered_hits_are_the_first_allowed_of_all_hits(
    retriever: Retriever, side_by_side: bool, tmp_path: Path
) -> None:
    """Documents 0 and 1 are in the east, 2 and 3 in the west."""
    given = {"dataset": FixedData(side_by_side), "retriever": retriever, "filter": WEST, "chunk": SMALL_CHUNKS}
    found = hits_and_all(Store(tmp_path), **given)
    assert len(found) == len(retriever.arms)
    for hits, everything, document in found:
        assert hits.chunk.shape[1] == 2
        for row, (own, every) in enumerate(zip(hits.chunk.tolist(), everything.chunk.tolist(), strict=True)):
            wanted = [chunk for chunk in every if chunk >= 0 and document[chunk] >= 2][:2]
            assert [chunk for chunk in own if chunk >= 0] == wanted
            places = [every.index(chunk) for chunk in wanted]
            np.testing.assert_array_equal(hits.score[row, : len(wanted)], everything.score[row, places])


def test_filtered_candidates_are_searched_deeper(tmp_path: Path) -> None:
    """A retriever that ranks the hits of other searches finds no other hits."""
    retriever = three_way(LetterHeads(), depth=2)
    for hits, _, document in hits_and_all(Store(tmp_path), retriever=retriever, filter=WEST, chunk=SMALL_CHUNKS):
        assert all(document[chunk] >= 2 for chunk in hits.chunk.ravel().tolist())


def test_sample_filter_applies_to_the_places_of_its_own_corpus(tmp_path: Path) -> None:
    retriever = Dense(LetterCounts(), Flat(), depth=3)
    filtered = ByMetadata({})
    ((hits, _, document),) = hits_and_all(
        Store(tmp_path), dataset=AskedOfPlaces(), retriever=retriever, filter=filtered
    )
    places = [{document[c] >= 2 for c in row if c >= 0} for row in hits.chunk.tolist()]
    assert places == [{True}, {True}, {False}, set()]


TEXTS = {
    "north0": "The north bridge is red.",
    "north1": "The north bridge is green.",
    "south2": "The south bridge is red.",
    "south3": "The south bridge is blue.",
}


class TestInASweep:
    @pytest.fixture
    def options(self, tmp_path: Path) -> tuple[str, ...]:
        samples = [
            {"id": "1", "question": "Which bridge is red?", "gold": ["south2"]},
            {"id": "2", "question": "Which bridge is red?", "gold": ["north0"], "conditions": {"side": "south"}},
        ]
        options = own_data(tmp_path, TEXTS, samples)
        lines = (tmp_path / "documents.jsonl").read_text(encoding="utf-8").splitlines()
        with_facts = [line[:-1] + f', "metadata": {{"side": "{line[8:13]}"}}}}\n' for line in lines]
        (tmp_path / "documents.jsonl").write_text("".join(with_facts), encoding="utf-8")
        return (*options, "llm=none", "tokenizer=bigrams", "retriever.depth=1", "top_k=1", *RANKING_ONLY)

    def test_filter_effect_is_reported(
        self, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_small(tmp_path, (*options, "filter=metadata")) == EXIT_OK
        assert [hit["document_id"] for own in samples_in(tmp_path) for hit in own["retrieved"]] == ["north0", "south2"]
        (cell,) = cells_in(tmp_path)
        line = "filter: 2 to 4 of 4 documents may be found; 1 of 2 samples have gold only in other documents"
        assert cell.steps["filter"] == {
            "n_documents": 4, "n_allowed_min": 2, "n_allowed_max": 4, "n_samples_without_documents": 0,
            "n_samples_without_hits": 0, "n_samples_without_gold": 1, "line": line,
        }  # fmt: skip
        assert line in capsys.readouterr().out

    def test_metadata_names_of_no_document_are_rejected_by_the_plan(
        self, options: tuple[str, ...], tmp_path: Path
    ) -> None:
        small = (*options, "filter=metadata", "+filter.where.sied.equals=[north]", "llm=scripted")
        with pytest.raises(ConfigError) as told:
            plan_small(tmp_path, (*small, "prompt.passage='{sides}: {text}'"))
        assert told.value.problems == (
            "filter: no document has 'sied' among its metadata, expected one of side; did you mean side?",
            "prompt.passage: no document has 'sides' among its metadata, expected placeholders for n, text, title, "
            "metadata, section, page, date, side",
        )
        closed_book = [option for option in options if not option.startswith("retriever.")]
        plan_small(
            tmp_path, (*closed_book, "llm=scripted", "retriever=closed_book", "prompt.passage='{sides}: {text}'")
        )

    def test_chunk_metadata_filter_removes_chunks(self, tmp_path: Path) -> None:
        text = "# North\n\nThe bridge is red.\n\n# South\n\nThe bridge is red."
        sample = {"id": "1", "question": "Which bridge is red?", "gold": ["bridges"]}
        options = (*own_data(tmp_path, {"bridges": text, "other": text[:9]}, [sample]), "llm=none", *RANKING_ONLY)
        small = ("tokenizer=english", "chunk=structure", "filter=metadata", "+filter.where.section.equals=[South]")
        assert run_small(tmp_path, (*options, *small)) == EXIT_OK
        (row,), (cell,) = samples_in(tmp_path), cells_in(tmp_path)
        assert [text[hit["start"] :].strip() for hit in row["retrieved"]] == ["# South\n\nThe bridge is red."]
        assert cell.steps["filter"]["n_chunks"] == 3
        assert cell.steps["filter"]["line"].startswith("filter: 1 of 3 chunks may be found; 0 of 1 samples have gold")


def test_filtered_search_declares_all_its_inputs(tmp_path: Path) -> None:
    """The inputs of a deeper search must exist when it runs, even if other results were pruned."""
    graph = graph_in(Store(tmp_path), fixed_cell(retriever=three_way(LetterHeads()), filter=WEST))
    for stage in graph.result.upstream():
        if isinstance(stage, FilteredHits):
            said = {each.key for each in stage.inputs}
            searches = [each for each in stage.search.upstream() if isinstance(each, Search)]
            assert {each.key for search in searches for each in search.inputs} <= said
