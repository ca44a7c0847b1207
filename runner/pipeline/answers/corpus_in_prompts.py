"""The part of a corpus that fits into each prompt of a cell without a search, known before any work."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.protocols import ContextBuilder
from components.records import Context, Kind, Sample, SpanTexts
from components.retrievers.whole_corpus import WholeCorpus
from components.text.corpus_tables import segment
from runner.engine.store import Store
from runner.engine.worker import read_cached
from runner.pipeline.answers.checked_context import validate_context
from runner.pipeline.corpus.document_table import read_documents
from runner.pipeline.corpus.loaded_data import DatasetStages

if TYPE_CHECKING:
    from runner.pipeline.cell import Cell

_MAX_HITS = 5_000_000
"""Maximum number of hits of all samples together, because a table lists all of them."""

_ANY_SAMPLE = Sample("", "", Kind.QA, "", ())
"""Every sample gets the same texts."""


@dataclass(frozen=True)
class CorpusInPrompts:
    """Report of the plan for `retriever=all`; empty for other retrievers."""

    lines: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def corpus_in_prompts(
    cell: "Cell", data: DatasetStages, store: Store, cache: dict[str, CorpusInPrompts]
) -> CorpusInPrompts:
    """Return the part of the corpus that fits into each prompt of a cell that shows all of it.

    The corpus is cut and a context is built as the stages will do it. A refiner is left out, because it may use a
    model. Cells with equal prompts share an entry of `cache`. Raises ComponentError if the chunker or the context
    builder fails.
    """
    if not (cell.pipeline.is_built_in and isinstance(cell.retriever, WholeCorpus)):
        return CorpusInPrompts()
    key = repr((data.key, cell.retriever, cell.context, cell.top_k, cell.refiner))
    if key not in cache:
        line, problem = _line_or_problem(cell.retriever, cell.context, cell.top_k, data, store)
        before = ", before the refiner" if cell.refiner.steps else ""
        cache[key] = CorpusInPrompts((f"{line}{before}",) if line else (), (problem,) if problem else ())
    return cache[key]


def _line_or_problem(
    whole: WholeCorpus, builder: ContextBuilder, top_k: int, data: DatasetStages, store: Store
) -> tuple[str, str]:
    """Return a line and "", or "" and an error message."""
    n_samples = data.n_samples
    documents = read_cached(data.loaded, store, lambda entry: read_documents(entry.parts()))
    n_characters = sum(map(len, documents.texts))
    if n_characters > whole.max_characters:
        return "", (
            f"retriever.max_characters: got {whole.max_characters:,}, but the corpus has {n_characters:,} "
            "characters, and prompts would hold only a small part of it. Choose a retriever that searches, or set "
            "dataset.max_documents."
        )
    spans = whole.chunker.chunk(documents, segment(documents.texts, whole.chunker.length_tokenizer))
    n_picked = min(top_k, len(spans))
    if n_picked * n_samples > _MAX_HITS:
        return "", (
            f"top_k: got {top_k:,}, which gives {n_picked * n_samples:,} hits for {n_samples:,} samples, more "
            f"than {_MAX_HITS:,}. Set a smaller top_k, or use fewer samples (dataset.limit)."
        )
    texts, hits = SpanTexts(documents.texts, spans), whole.pick((_ANY_SAMPLE,), documents, spans, n_picked)
    context = validate_context(builder.build(hits, texts, n_picked), hits, spans, n_picked, builder)
    shown_texts = [texts[chunk] for chunk in context.chunk[0].tolist() if chunk >= 0]
    limits = _limits(builder, top_k, context, n_picked < len(spans))
    if not shown_texts and n_picked:
        return "", (
            f"retriever: no text of the corpus fits into a prompt{limits}. Use a larger limit, or cut the documents "
            "into pieces (chunk@retriever.chunker=sentence)"
        )
    n_shown = sum(map(len, shown_texts))
    line = (
        f"each prompt: {len(shown_texts):,} of {len(spans):,} texts of the corpus, {n_shown:,} of {n_characters:,} "
        f"characters ({n_shown / max(n_characters, 1):.0%}), {int(context.n_tokens[0]):,} tokens per question{limits}"
    )
    return line, ""


def _limits(builder: ContextBuilder, top_k: int, context: Context, has_more: bool) -> str:
    budget = getattr(builder, "max_tokens", None)
    is_full = bool(context.n_tokens_dropped[0]) and budget is not None
    limits = [*([f"top_k={top_k}"] if has_more else []), *([f"context.max_tokens={budget}"] if is_full else [])]
    return f"; limited by {' and '.join(limits)}" if limits else ""
