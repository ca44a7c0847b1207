"""Which stages an axis changes: all others are shared by the cells that differ in that axis alone."""

from collections.abc import Mapping
from functools import cache

import pytest
from runner.pipeline.stages import KINDS, Graph, data_stage

from components.errors import RagGridError
from tests.runner.sweeping import planned, small_request

AFTER_ANSWERS = {"answer_units", "answer_scores", "matrices", "result"}
AFTER_CONTEXT = {"context", "context_scores", "answers"} | AFTER_ANSWERS
RETRIEVAL = {
    "corpus", "segments", "chunks", "terms", "query_terms", "fitted", "vectors", "query_vectors", "vector_index",
    "dense_hits", "sparse_index", "sparse_hits", "fused_hits", "reranked_hits",
}  # fmt: skip


@cache
def graph(*overrides: str) -> Graph:
    (cell,) = planned([small_request(*overrides)])
    return cell.graph


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


HYBRID = ("retriever=hybrid",)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (HYBRID, (*HYBRID, "top_k=7"), AFTER_CONTEXT),
        (HYBRID, (*HYBRID, "context.order=corpus"), AFTER_CONTEXT),
        (HYBRID, (*HYBRID, "llm=scripted"), {"answers"} | AFTER_ANSWERS),
        (HYBRID, (*HYBRID, "prompt=english"), {"answers"} | AFTER_ANSWERS),
        (
            HYBRID,
            (*HYBRID, "metrics.interval.seed=1"),
            {"ranking_scores", "context_scores", "answer_scores", "matrices", "result"},
        ),
        (
            HYBRID,
            (*HYBRID, "~metrics.scores.bleu"),
            {"reference_units", *AFTER_ANSWERS},
        ),
        (
            HYBRID,
            (*HYBRID, "embedder.max_ngram=3"),
            {"fitted", "vectors", "query_vectors", "vector_index", "dense_hits", "fused_hits", "ranking_scores"}
            | AFTER_CONTEXT,
        ),
        (
            HYBRID,
            (*HYBRID, "retriever.sparse_index.k1=0.9"),
            {"sparse_index", "sparse_hits", "fused_hits", "ranking_scores"} | AFTER_CONTEXT,
        ),
        (HYBRID, (*HYBRID, "retriever.fusion.k=10"), {"fused_hits", "ranking_scores"} | AFTER_CONTEXT),
        (
            HYBRID,
            (*HYBRID, "retriever.depth=50"),
            {"dense_hits", "sparse_hits", "fused_hits", "ranking_scores"} | AFTER_CONTEXT,
        ),
        (HYBRID, ("retriever=hybrid_rerank",), {"reranked_hits", "ranking_scores"} | AFTER_CONTEXT),
        (
            HYBRID,
            (*HYBRID, "chunk.size=256"),
            {"chunks", "vectors", "vector_index", "dense_hits", "sparse_index", "sparse_hits", "fused_hits"}
            | {"ranking_scores"}
            | AFTER_CONTEXT,
        ),
        (
            HYBRID,
            (*HYBRID, "expander=none"),
            {"queries", "query_terms", "query_vectors", "dense_hits", "sparse_hits", "fused_hits", "ranking_scores"}
            | AFTER_CONTEXT,
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_an_axis_changes_no_more_than_it_must(
    before: tuple[str, ...], after: tuple[str, ...], expected: set[str]
) -> None:
    assert changed_kinds(before, after) == expected


@pytest.mark.parametrize(
    "override",
    ["run.workers=2", "run.results_dir=elsewhere", "run.max_failure_rate=1", "tracking=mlflow", "experiment.name=x"],
)
def test_settings_of_the_run_change_nothing(override: str) -> None:
    assert changed_kinds((), (override,)) == set()


def test_a_runtime_only_field_changes_nothing() -> None:
    assert changed_kinds(("llm=scripted",), ("llm=scripted", "llm.delay_s=1.5")) == set()


@pytest.mark.parametrize("override", ["embedder=lsa", "embedder.n_dimensions=8"])
def test_the_embedder_does_not_count_for_bm25(override: str) -> None:
    assert graph("retriever=bm25", override).result.key == graph("retriever=bm25").result.key


def test_dense_retrieval_alone_is_a_part_of_hybrid() -> None:
    for part in ("dense", "bm25"):
        (hits,) = [kind for kind in keys(f"retriever={part}") if kind.endswith("_hits")]
        assert keys(f"retriever={part}")[hits] == keys(*HYBRID)[hits]


@pytest.mark.parametrize(
    "override",
    [
        "chunk.size=256",
        "chunk=token",
        "embedder=lsa",
        "reranker=lexical",
        "top_k=9",
        "expander=history",
        "expander=none",
    ],
)
def test_a_closed_book_uses_none_of_the_retrieval(override: str) -> None:
    closed_book = graph("retriever=closed_book", override)
    assert not RETRIEVAL & {stage.kind for stage in closed_book.result.upstream()}
    assert closed_book.result.key == graph("retriever=closed_book").result.key


def test_the_axes_that_count_are_named() -> None:
    always = {"dataset", "tokenizer", "retriever", "prompt", "llm", "metrics", "judge"}
    retrieval = {"chunk", "expander", "reranker", "context", "top_k"}
    assert graph("retriever=closed_book").used == always
    assert graph("retriever=bm25").used == always | retrieval
    assert graph("retriever=hybrid").used == always | retrieval | {"embedder", "vector_index"}


def test_what_concerns_the_search_alone_shares_the_index() -> None:
    dense = ("retriever=dense", "vector_index=hnsw")
    assert "vector_index" not in changed_kinds(dense, (*dense, "vector_index.ef_search=64"))
    assert "dense_hits" in changed_kinds(dense, (*dense, "vector_index.ef_search=64"))
    assert "vector_index" in changed_kinds(dense, (*dense, "vector_index.n_links=8"))


def test_an_alarm_changes_nothing() -> None:
    assert changed_kinds((), ("retriever.sparse_index.max_share_without_hits=1.0",)) == set()


def test_one_tokenizer_axis_reaches_all_that_split_words() -> None:
    assert {"terms", "query_terms", "sparse_hits", "answers"} <= changed_kinds(
        (), ("tokenizer=bigrams", "llm=extractive")
    )


def test_the_limit_of_samples_shares_the_corpus() -> None:
    assert changed_kinds((), ("dataset.limit=6",)).isdisjoint({"corpus", "segments", "chunks", "terms", "sparse_index"})


def test_all_kinds_are_known_in_the_order_of_the_flow() -> None:
    for overrides in (("retriever=hybrid_rerank", "embedder=lsa"), ("retriever=closed_book",)):
        for stage in graph(*overrides).result.upstream():
            for before in stage.inputs.values():
                assert KINDS.index(before.kind) < KINDS.index(stage.kind)


def test_missing_data_are_found_when_the_stage_is_made() -> None:
    cell = small_request("dataset=crud_rag", "dataset.root=nowhere").cell
    with pytest.raises(RagGridError, match="nowhere/80000_docs: no such folder"):
        data_stage(cell)


def test_references_are_taken_apart_once_for_all_cells() -> None:
    one, other = keys("retriever=bm25"), keys("retriever=hybrid", "chunk.size=256", "llm=scripted")
    assert one["reference_units"] == other["reference_units"]
    assert one["answer_units"].isdisjoint(other["answer_units"])


def test_metrics_that_compare_by_the_same_words_share_them() -> None:
    """rouge_l_crud_compat and bleu_crud_compat both count words with white space."""
    default, published = keys("metrics=default"), keys("metrics=published")
    assert len(published["answer_units"]) == len(default["answer_units"]) + 4


def test_without_a_judge_nothing_is_judged() -> None:
    assert not {"prepared", "judged_scores"} & keys("judge=none").keys()
