"""An exported pipeline answers one by one, without a store, as its cell did in the sweep."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.protocols import ExistingIndexArm, PickingArm
from components.records import Sample, Turn
from components.sparse_indexes.bm25 import Bm25
from runner.engine.stage import Stage
from runner.engine.store import Store
from runner.engine.worker import find_or_make
from runner.pipeline.cell import Cell
from runner.pipeline.cell_graph import Graph
from runner.pipeline.corpus.loaded_data import DatasetStages, SampleSet, load_data
from runner.serving.cached_stages import CachedStages, StageFiles, needed_stages, read_versions
from runner.serving.exporting.stored_stages import collect_facts
from runner.serving.in_memory import QuestionRun
from runner.serving.retrieved_passages import best_passages, prompt_passages, sweep_hits
from runner.serving.served_graph import ServedGraph, build_cell, served_graph, without_evaluation
from tests.runner.pipeline.fixed import CELLS, fixed_cell, graph_in, run_all

SEARCHING = [
    name
    for name, fields in CELLS.items()
    if not any(isinstance(arm, PickingArm | ExistingIndexArm) for arm in fixed_cell(**fields).retriever.arms)
    and "pipeline" not in fields
]


def facts(data: DatasetStages, store: Store) -> Any:
    content = find_or_make(data.loaded, store).part("content")
    return collect_facts("fixed", content, data.parts.partition, find_or_make(data.parts.partition, store))


def cached_stages(store: Store, stages: list[Stage[Any]]) -> CachedStages:
    files = []
    for stage in stages:
        entry = store.find(stage.kind, stage.key)
        assert entry is not None, f"{stage.kind} is not what the sweep kept"
        files.append(StageFiles(str(entry.folder), stage.kind, read_versions(stage), dict(entry.manifest.files)))
    return CachedStages(Path("/"), stages, files)


def remove_alarm(cell: Cell) -> Cell:
    """A single question may find nothing."""
    index = getattr(cell.retriever, "sparse_index", None)
    if not isinstance(index, Bm25):
        return cell
    quiet: Any = replace(cell.retriever, sparse_index=replace(index, max_share_without_hits=1.0))  # type: ignore[type-var]
    return replace(cell, retriever=quiet)


class Answered:
    """A fixed cell as a sweep answers it, and a way to ask it questions one by one."""

    def __init__(self, store: Store, cell: Cell) -> None:
        self.graph: Graph = graph_in(store, cell)
        run_all(store, self.graph.result)
        summary = find_or_make(self.graph.result, store)
        self.rows: list[dict[str, Any]] = summary.part("samples").to_pylist()
        steps = summary.part("summary").get("steps", {}).get("reranker", {})
        self.samples = cell.dataset.load().samples
        pool = cell.examples.dataset and facts(load_data(cell.examples.dataset, store), store)
        chosen = {name: own["chosen"] for name, own in steps.get("sets", {"": {"chosen": None}}).items()}
        self.graphs = {
            name: served_graph(without_evaluation(remove_alarm(cell)), facts(self.graph.data, store), pool, reranker)
            for name, reranker in chosen.items()
        }
        self.stored = {
            name: cached_stages(store, needed_stages(graph.targets, graph.samples))
            for name, graph in self.graphs.items()
        }

    def ask(self, sample: Sample) -> tuple[ServedGraph, QuestionRun]:
        name = sample.subset if sample.subset in self.graphs else ""
        graph = self.graphs[name]
        return graph, QuestionRun(self.stored[name], {graph.samples.key: SampleSet((sample,), {})})


@pytest.mark.parametrize("name", SEARCHING)
def test_serving_graph_answers_one_question_as_the_sweep(name: str, tmp_path: Path) -> None:
    answered = Answered(Store(tmp_path, "a run"), fixed_cell(**CELLS[name]))
    n_found = 0
    for sample, row in zip(answered.samples, answered.rows, strict=True):
        if row["state"] == "error":
            continue
        before = {own["question"]: own["answer"] for own in answered.rows}
        if "history" in CELLS[name]:  # whose answers were the model's own
            sample = replace(sample, history=tuple(Turn(t.question, before[t.question]) for t in sample.history))
        graph, run = answered.ask(sample)
        (answer,) = run.read(graph.answers)
        assert (answer.text, answer.state) == (row["answer"], row["state"])
        if graph.search:
            hits = sweep_hits(graph.search, run)
            assert len(hits) == len(row["retrieved"])
            assert all(hit.items() <= stored.items() for hit, stored in zip(hits, row["retrieved"], strict=True))
            n_found += len(hits)
    assert n_found or name == "closed book"


@pytest.mark.parametrize("name", ["the best sentences of the passages", "sentences that a model selects"])
def test_compressed_passages_of_a_serving_graph_reach_the_prompt(name: str, tmp_path: Path) -> None:
    answered = Answered(Store(tmp_path, "a run"), fixed_cell(**CELLS[name]))
    n_shorter = 0
    for sample in answered.samples:
        graph, run = answered.ask(sample)
        assert graph.search
        hits = {hit.text: hit for hit in best_passages(graph.search, run, 10)}
        for passage in prompt_passages(graph.search, run):
            (around,) = [
                hit for text, hit in hits.items() if passage.text.split(".")[0] in text and passage.score == hit.score
            ]
            assert passage.document_id == around.document_id
            assert passage.text in around.text or name == "the best sentences of the passages"
            if passage.start is not None and around.start is not None:
                assert around.start <= passage.start
            n_shorter += len(passage.text) < len(around.text)
    assert n_shorter > 0


def test_serving_graph_has_no_evaluation_stages(tmp_path: Path) -> None:
    cell = fixed_cell(**CELLS["the best of two rerankers"])
    answered = Answered(Store(tmp_path, "a run"), cell)
    kinds = {stage.kind for graph in answered.graphs.values() for stage in needed_stages(graph.targets, graph.samples)}
    assert kinds == {"corpus", "partition", "chunks", "block_terms", "sparse_index"}
    used = frozenset[str]().union(*(graph.used for graph in answered.graphs.values()))
    assert not used & {"prices", "tracking", "run", "embedder"}


def test_exported_cell_fills_a_missing_field_with_its_default() -> None:
    """A folder that was exported before a step existed has no node for it."""
    cell = build_cell({"top_k": 5}, ())
    assert (cell.top_k, cell.repeat) == (5, 0)
