"""Finds components of a cell that do not suit each other, before anything is loaded.

See `data_mistakes` for errors that depend on the data set.
"""

from components.protocols import (
    LLM,
    AnyReranker,
    Expander,
    Generator,
    Header,
    History,
    PickingArm,
    Refiner,
    RerankerSelection,
    Retriever,
)
from runner.pipeline.answers.generating import draw_mistakes
from runner.pipeline.corpus.chunk_headers import header_mistakes
from runner.pipeline.corpus.refined_corpora import refiner_mistakes
from runner.pipeline.ranking.selecting import selection_mistakes
from runner.pipeline.search.dense_search import dimension_mistakes
from runner.pipeline.search.expanding import expander_mistakes, gold_answer_mistakes
from runner.pipeline.settings import MetricSettings


def combination_mistakes(
    top_k: int | None,
    retriever: Retriever | None,
    expander: Expander | None = None,
    generator: Generator | None = None,
    llm: LLM | None = None,
    history: History | None = None,
    refiner: Refiner | None = None,
    header: Header | None = None,
    reranker: AnyReranker | None = None,
    metrics: MetricSettings | None = None,
    repeat: int | None = None,
    judge_repeat: int | None = None,
) -> list[str]:
    """Return errors about combinations of fields of a cell. None stands for a field that could not be built."""
    mistakes = dimension_mistakes(retriever) if retriever is not None else []
    mistakes += draw_mistakes(generator, llm) if generator is not None and llm is not None else []
    mistakes += [
        f"{name}: got {draw}, expected the number of a draw: 0, 1, 2, ..."
        for name, draw in (("repeat", repeat), ("judge_repeat", judge_repeat))
        if draw is not None and draw < 0
    ]
    if top_k is not None and top_k < 1:
        mistakes.append(f"top_k: got {top_k}, expected at least 1 (for none, retriever=closed_book)")
    elif top_k is not None and retriever is not None and 0 < retriever.depth < top_k:
        mistakes.append(
            f"top_k: got {top_k}, more than retriever.depth={retriever.depth}, the number of hits per query; "
            f"use a smaller top_k or retriever.depth={top_k}"
        )
    if retriever is not None and expander is not None and retriever.fusion is None:
        n_rankings = len(retriever.arms) * len(expander.variants)
        if n_rankings > 1 and searches(retriever):
            mistakes.append(
                f"retriever.fusion: got none for {n_rankings} rankings ({len(retriever.arms)} searches x "
                f"{len(expander.variants)} variants of the query), expected a fusion; see retriever=hybrid"
            )
    if expander is not None and retriever is not None and searches(retriever):
        mistakes += expander_mistakes(expander)
        if history is not None and history.has_rounds:
            mistakes += gold_answer_mistakes(expander)
    if refiner is not None and retriever is not None and retriever.arms:
        mistakes += refiner_mistakes(refiner)
    if header is not None and retriever is not None and searches(retriever):
        mistakes += header_mistakes(header)
    if isinstance(reranker, RerankerSelection) and metrics is not None and retriever is not None and retriever.arms:
        mistakes += selection_mistakes(reranker, metrics.of_rankings)
    return mistakes


def searches(retriever: Retriever) -> bool:
    """Return whether queries are searched for. False for a closed book, and for an arm that picks without a query."""
    return bool(retriever.arms) and not any(isinstance(arm, PickingArm) for arm in retriever.arms)
