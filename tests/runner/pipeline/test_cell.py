"""Stages that an axis changes. Cells that differ only in that axis share all others."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from components.errors import RagGridError
from runner.engine.store import Store
from runner.pipeline.cell_graph import Graph
from runner.pipeline.corpus.loaded_data import load_data
from tests.runner.sweeping import small_graph, small_request

AFTER_ANSWERS = {"answer_units", "answer_scores", "result"}
GENERATION = {"generation", "generated_answers"}
AFTER_PROMPT = {"prompts", "answers"} | AFTER_ANSWERS
AFTER_CONTEXT = {"context", "context_scores"} | AFTER_PROMPT
RETRIEVAL = {
    "corpus", "partition", "segments", "block_chunks", "chunks", "block_terms", "terms", "queries", "query_words",
    "query_terms", "embedder_state", "vectors", "joined_vectors", "query_vectors", "vector_index", "dense_hits",
    "sparse_index", "sparse_hits", "fused_hits", "sample_hits", "reranked_hits",
}  # fmt: skip
AFTER_CHUNKS = {
    "vectors", "joined_vectors", "vector_index", "dense_hits", "sparse_index", "sparse_hits", "fused_hits",
    "ranking_scores",
} | AFTER_CONTEXT  # fmt: skip
AFTER_CORPUS = {"segments", "block_chunks", "chunks", "block_terms"} | AFTER_CHUNKS
REFINED = {"refined_corpus", "refined_gold", "original_places", "original_hits", "original_context"}


@cache
def graph(*overrides: str) -> Graph:
    return small_graph(*overrides)


@cache
def keys(*overrides: str) -> Mapping[str, frozenset[str]]:
    """The keys of a cell's stages by kind."""
    found: dict[str, set[str]] = {}
    for stage in graph(*overrides).result.upstream():
        found.setdefault(stage.kind, set()).add(stage.key)
    return {kind: frozenset(of_kind) for kind, of_kind in found.items()}


def changed_kinds(before: tuple[str, ...], after: tuple[str, ...]) -> set[str]:
    one, other = keys(*before), keys(*after)
    return {kind for kind in one.keys() | other.keys() if one.get(kind) != other.get(kind)}


HYBRID = ("retriever=hybrid", "llm=scripted")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (HYBRID, (*HYBRID, "top_k=7"), AFTER_CONTEXT),
        (HYBRID, (*HYBRID, "context.order=corpus"), AFTER_CONTEXT),
        (HYBRID, (*HYBRID, "context.window=1"), AFTER_CONTEXT),
        (HYBRID, (*HYBRID, "llm.reply=Yes"), {"answers"} | AFTER_ANSWERS),
        (HYBRID, (*HYBRID, "prompt=english"), AFTER_PROMPT),
        (HYBRID, (*HYBRID, "generator=refine"), {"prompts", "answers", *GENERATION} | AFTER_ANSWERS),
        (
            HYBRID,
            (*HYBRID, "metrics.interval.seed=1"),
            {"ranking_scores", "context_scores", "answer_scores", "result"},
        ),
        (
            HYBRID,
            (*HYBRID, "~metrics.scores.bleu"),
            {"reference_units", *AFTER_ANSWERS},
        ),
        (
            HYBRID,
            (*HYBRID, "embedder.max_ngram=3"),
            {"embedder_state", "query_vectors"} | AFTER_CHUNKS - {"sparse_index", "sparse_hits"},
        ),
        (
            HYBRID,
            (*HYBRID, "retriever.sparse_index.k1=0.9"),
            {"sparse_hits", "fused_hits", "ranking_scores"} | AFTER_CONTEXT,
        ),
        (
            HYBRID,
            (*HYBRID, "refiner=dedupe"),
            {"partition"} | AFTER_CORPUS | REFINED,
        ),
        (
            (*HYBRID, "refiner=combined", "refiner.use=[dedupe]"),
            (*HYBRID, "refiner=combined", "refiner.use=[dedupe,headings]"),
            AFTER_CORPUS | REFINED,
        ),
        (
            HYBRID,
            (*HYBRID, "header=title"),
            {"block_terms", "chunk_headers", "headed_corpus", "headed_chunks"} | AFTER_CHUNKS,
        ),
        (
            (*HYBRID, "chunk=parents"),
            (*HYBRID, "chunk=parents", "chunk.children.size=64"),
            {"child_chunks", "chunks_of_block", "parent_hits"} | AFTER_CHUNKS,
        ),
        (
            (*HYBRID, "chunk=semantic"),
            (*HYBRID, "chunk=semantic", "chunk.percentile=80"),
            {"chunks_by_vectors", "chunks_of_block"} | AFTER_CHUNKS,
        ),
        (HYBRID, (*HYBRID, "retriever.fusion.k=10"), {"fused_hits", "ranking_scores"} | AFTER_CONTEXT),
        (
            HYBRID,
            (*HYBRID, "retriever.depth=50"),
            {"dense_hits", "sparse_hits", "fused_hits", "ranking_scores"} | AFTER_CONTEXT,
        ),
        (HYBRID, (*HYBRID, "retriever=arms", "retriever.weights.bigrams=0"), set()),
        (
            (*HYBRID, "retriever=arms"),
            (*HYBRID, "retriever=arms", "retriever.weights.bigrams=0.5"),
            {"fused_hits", "ranking_scores"} | AFTER_CONTEXT,
        ),
        (
            HYBRID,
            (*HYBRID, "filter=metadata"),
            {"allowed_documents", "filtered_hits", "fused_hits", "ranking_scores"} | AFTER_CONTEXT,
        ),
        (HYBRID, (*HYBRID, "diversity=near_duplicates"), {"terms", "diverse_hits", "ranking_scores"} | AFTER_CONTEXT),
        (HYBRID, (*HYBRID, "diversity=mmr"), {"diverse_hits_by_vectors", "ranking_scores"} | AFTER_CONTEXT),
        (
            ("retriever=bm25", "llm=scripted"),
            ("retriever=bm25", "llm=scripted", "diversity=mmr_terms"),
            {"terms", "diverse_hits", "ranking_scores"} | AFTER_CONTEXT,
        ),
        (
            HYBRID,
            (*HYBRID, "retriever=hybrid_rerank"),
            {"terms", "query_terms", "reranked_hits", "ranking_scores"} | AFTER_CONTEXT,
        ),
        (
            HYBRID,
            (*HYBRID, "chunk.size=256"),
            {"block_chunks", "chunks"} | AFTER_CHUNKS,
        ),
        (
            HYBRID,
            (*HYBRID, "expander=none"),
            {"queries", "query_words", "query_vectors", "dense_hits", "sparse_hits", "fused_hits"}
            | {"ranking_scores"}
            | AFTER_CONTEXT,
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_axis_changes_only_the_expected_stages(
    before: tuple[str, ...], after: tuple[str, ...], expected: set[str]
) -> None:
    assert changed_kinds(before, after) == expected


@pytest.mark.parametrize(
    "override",
    ["run.workers=2", "run.results_dir=elsewhere", "run.max_failure_rate=1", "tracking=mlflow", "experiment.name=x"],
)
def test_run_settings_change_no_stage(override: str) -> None:
    assert changed_kinds((), (override,)) == set()


def test_runtime_only_field_changes_no_stage() -> None:
    assert changed_kinds(("llm=scripted",), ("llm=scripted", "llm.delay_s=1.5")) == set()


def test_single_ranking_needs_no_fusion() -> None:
    assert "sample_hits" in keys("retriever=bm25")
    assert not {"fused_hits", "sample_hits"} & keys("retriever=closed_book").keys()
    assert "sample_hits" not in keys(*HYBRID)


def test_cell_without_a_generator_has_no_answer_stages() -> None:
    assert {"prompts", "answers"}.isdisjoint(keys("llm=none"))
    assert "no_answers" in keys("llm=none")
    assert graph("llm=none", "prompt=english").result.key == graph("llm=none").result.key


def test_baseline_reads_no_prompt() -> None:
    baseline = ("retriever=bm25", "llm=extractive")
    assert graph(*baseline, "prompt=english").result.key == graph(*baseline, "prompt=chinese").result.key
    assert {"prompts", "answers"}.isdisjoint(keys(*baseline))
    assert "prompt" not in graph(*baseline).used
    assert "prompt" in graph("retriever=bm25", "llm=scripted").used


@pytest.mark.parametrize(
    ("cell", "generator"),
    [
        (("llm=extractive",), "generator=self_consistency"),
        (("llm=none",), "generator=refine"),
        (("llm=scripted", "retriever=closed_book"), "generator=refine"),
        (("llm=scripted", "top_k=1"), "generator=refine"),
        (("llm=scripted", "context.max_tokens=500"), "generator=split_fuse"),  # none is longer than its limit
    ],
)
def test_generator_without_effect_keeps_the_result_key(cell: tuple[str, ...], generator: str) -> None:
    assert graph(*cell, generator).result.key == graph(*cell).result.key


@pytest.mark.parametrize("override", ["embedder=lsa", "embedder.n_dimensions=8"])
def test_embedder_does_not_change_a_bm25_cell(override: str) -> None:
    assert graph("retriever=bm25", override).result.key == graph("retriever=bm25").result.key


def test_hybrid_shares_its_searches_with_dense_and_bm25_cells() -> None:
    for part in ("dense", "bm25"):
        alone = keys(f"retriever={part}")
        (hits,) = [kind for kind in alone if kind.endswith("_hits") and kind != "sample_hits"]
        assert alone[hits] == keys(*HYBRID)[hits]


def test_arms_add_their_searches_to_shared_ones() -> None:
    arms = keys("retriever=arms", "llm=scripted")
    for kind in ("dense_hits", "sparse_hits"):
        assert keys(*HYBRID)[kind] <= arms[kind]
    assert len(arms["sparse_hits"]) == 2
    alone = keys("retriever=arms", "retriever.weights={dense: 1, bm25: 0, bigrams: 0}", "llm=scripted")
    assert alone["result"] == keys("retriever=dense", "llm=scripted")["result"]
    several = ("expander=decomposition", "llm=scripted")
    assert "fused_hits" in keys("retriever=arms", "retriever.weights={dense: 1, bm25: 0, bigrams: 0}", *several)


@pytest.mark.parametrize(
    "override",
    [
        "chunk.size=256",
        "chunk=token",
        "embedder=lsa",
        "reranker=lexical",
        "diversity=mmr",
        "filter=metadata",
        "top_k=9",
        "expander=history",
        "expander=none",
    ],
)
def test_closed_book_graph_has_no_retrieval_stages(override: str) -> None:
    closed_book = graph("retriever=closed_book", override)
    assert not RETRIEVAL & {stage.kind for stage in closed_book.result.upstream()}
    assert {"empty_context", "not_applicable_scores"} <= {stage.kind for stage in closed_book.result.upstream()}
    assert closed_book.result.key == graph("retriever=closed_book").result.key


def test_graph_lists_the_axes_that_it_uses() -> None:
    always = {"dataset", "tokenizer", "retriever", "llm", "pipeline", "metrics", "judge"}
    retrieval = {"refiner", "chunk", "header", "expander", "diversity", "reranker", "context", "compressor", "top_k"}
    retrieval |= {"reviser"}
    assert graph("retriever=closed_book").used == always
    assert graph("retriever=oracle").used == always | retrieval - {"header"}
    retrieval |= {"filter", "iterative"}
    assert graph("retriever=bm25").used == always | retrieval
    assert graph("retriever=hybrid").used == always | retrieval | {"embedder", "vector_index"}


@pytest.mark.parametrize("override", ["repeat=1", "judge_repeat=1"])
def test_deterministic_model_is_not_repeated(override: str) -> None:
    assert changed_kinds(("llm=extractive",), ("llm=extractive", override)) == set()
    assert graph("llm=extractive", override).used.isdisjoint({"repeat", "judge_repeat"})


def test_index_is_shared_between_search_settings() -> None:
    dense = ("retriever=dense", "vector_index=hnsw")
    assert "vector_index" not in changed_kinds(dense, (*dense, "vector_index.ef_search=64"))
    assert "dense_hits" in changed_kinds(dense, (*dense, "vector_index.ef_search=64"))
    assert "vector_index" in changed_kinds(dense, (*dense, "vector_index.n_links=8"))


def test_threshold_for_missing_hits_changes_no_stage() -> None:
    assert changed_kinds((), ("retriever.sparse_index.max_share_without_hits=1.0",)) == set()


def test_tokenizer_axis_reaches_every_stage_that_splits_words() -> None:
    assert {"block_terms", "query_words", "sparse_hits", "baseline_answers"} <= changed_kinds(
        (), ("tokenizer=bigrams", "llm=extractive")
    )


def test_sample_limit_keeps_the_stages_of_the_corpus() -> None:
    assert changed_kinds((), ("dataset.limit=6",)).isdisjoint({"corpus", "segments", "chunks", "terms", "sparse_index"})


def test_single_refiner_shares_the_first_step_of_several() -> None:
    alone, several = ("refiner=dedupe",), ("refiner=combined", "refiner.use=[dedupe,tables]")
    assert keys(*alone)["refined_corpus"] < keys(*several)["refined_corpus"]
    assert keys(*alone)["gold_copies"] == keys()["gold_copies"], "copies of gold are looked for in the original texts"


def test_missing_data_folder_is_found_before_any_work(tmp_path: Path) -> None:
    cell = small_request("dataset=crud_rag", "dataset.root=nowhere").cell
    store = Store(tmp_path)
    with pytest.raises(RagGridError, match="nowhere/80000_docs: does not exist"):
        load_data(cell.dataset, store)
    assert list(store.entries()) == []


def test_reference_units_are_shared_by_all_cells() -> None:
    one, other = keys("retriever=bm25"), keys("retriever=hybrid", "chunk.size=256", "llm=scripted")
    assert one["reference_units"] == other["reference_units"]
    assert one["answer_units"].isdisjoint(other["answer_units"])


def test_metrics_with_the_same_words_share_word_stages() -> None:
    """Both rouge_l_crud_compat and bleu_crud_compat count words with whitespace."""
    default, published = keys("metrics=default"), keys("metrics=published")
    assert len(published["answer_units"]) == len(default["answer_units"]) + 4


def test_cell_without_a_judge_has_no_judge_stages() -> None:
    assert not {"judge_preparation", "judged_scores"} & keys("judge=none").keys()
