"""Warnings about texts that are longer than a model reads: an estimate before the work, and counts after it."""

from collections.abc import Iterator, Sequence

import numpy as np

from components.errors import ComponentError
from components.protocols import Chunker, DenseArm, GraphArm, ReadsTokens
from components.records import Documents, SpanTexts
from components.text.corpus_tables import segment
from runner.engine.store import Store
from runner.pipeline.corpus.chunk_vectors import reads_documents
from runner.pipeline.corpus.loaded_data import some_documents
from runner.pipeline.corpus.text_passages import ChunkPassages
from runner.pipeline.planned_cells import PlannedCell
from runner.pipeline.ranking.truncated_texts import TruncatedTexts, model_name
from runner.pipeline.retrieval_result import Retrieved
from runner.pipeline.search.nested_arms import arms_and_candidates
from runner.results import CellResult

_N_DOCUMENTS = 50
_MAX_CHARACTERS = 10_000
_MAX_CHUNKS = 2000
"""Limits of the estimate: documents, characters of each, and chunks."""


def long_chunk_lines(cells: Sequence[PlannedCell], store: Store) -> Iterator[str]:
    """Yield a line for each chunking and model with chunks that are longer than the model reads.

    Also yield a line for each model that reads chunks in their documents, if it has to read documents in parts. The
    estimates are from a few documents. There is no line if an earlier sweep counted all chunks. Raises ComponentError
    if a model cannot be reached, or if a model that refuses longer chunks would get some.
    """
    yield from dict.fromkeys(line for cell in cells for line in _window_lines(cell, store))
    seen = set()
    for cell in cells:
        retrieved = cell.graph.result.retrieved
        for stage in retrieved.cut if isinstance(retrieved, Retrieved) else ():
            is_new = stage.key not in seen and store.find(stage.kind, stage.key) is None
            seen.add(stage.key)
            if is_new and isinstance(stage, TruncatedTexts) and isinstance(stage.passages, ChunkPassages):
                yield from _cut_lines(cell, stage, store)


def _window_lines(cell: PlannedCell, store: Store) -> Iterator[str]:
    parts = cell.request.cell
    for arm in arms_and_candidates(parts.retriever) if parts.pipeline.is_built_in else ():
        embedder = arm.embedder if isinstance(arm, DenseArm | GraphArm) else None
        if not (reads_documents(embedder) and isinstance(embedder, ReadsTokens)):
            continue
        limit = embedder.token_limit()
        texts = some_documents(cell.graph.data, store, _N_DOCUMENTS).texts
        n_tokens = embedder.count_chunk_tokens(texts)
        if limit is not None and len(texts) and n_tokens.max() > limit:
            yield (
                f"{model_name(embedder)} reads {limit:,} tokens of a document at a time: about "
                f"{np.count_nonzero(n_tokens > limit) / len(texts):.0%} of documents are longer, up to "
                f"{n_tokens.max():,} tokens, judging by {len(texts)} documents. These are read in overlapping windows."
            )


def _cut_lines(cell: PlannedCell, stage: TruncatedTexts, store: Store) -> Iterator[str]:
    embedder, chunker = stage.embedder, cell.request.cell.chunk
    chunker = getattr(chunker, "children", chunker)  # a chunker with children has those searched
    limit = embedder.token_limit()
    if limit is None or not isinstance(chunker, Chunker):
        return
    n_tokens = embedder.count_chunk_tokens(_some_chunks(cell, chunker, store))
    if n_tokens.max(initial=0) > limit:
        size = f" at chunk.size={chunker.size}" if hasattr(chunker, "size") else ""
        line = (
            f"{model_name(embedder)} reads {limit:,} tokens of a chunk{size}: about "
            f"{np.count_nonzero(n_tokens > limit) / len(n_tokens):.0%} are longer, up to {n_tokens.max():,} tokens, "
            f"judging by {_N_DOCUMENTS} documents. Use smaller chunks, or a model that reads more."
        )
        if getattr(embedder, "truncation", "") == "error":
            raise ComponentError(
                f"{line} With truncation=error these fail the cell; truncation=cut reads their beginning"
            )
        yield line


def _some_chunks(cell: PlannedCell, chunker: Chunker, store: Store) -> list[str]:
    whole = some_documents(cell.graph.data, store, _N_DOCUMENTS)
    documents = Documents(whole.ids, whole.titles, [text[:_MAX_CHARACTERS] for text in whole.texts], whole.metadata)
    chunks = SpanTexts(documents.texts, chunker.chunk(documents, segment(documents.texts, chunker.length_tokenizer)))
    return list(chunks)[:: max(len(chunks) // _MAX_CHUNKS, 1)]


def cut_lines(cells: Sequence[CellResult]) -> list[str]:
    """Return a line for each model and kind of texts that were longer than it reads. Equal lines occur once."""
    counts: dict[str, int] = {}
    for cell in cells:
        for cut in cell.cut_texts:
            if cut["n_cut"]:
                line = (
                    f"{cut['model']} reads {cut['limit']:,} tokens: {cut['n_cut']:,} of {cut['n']:,} {cut['texts']} "
                    f"were truncated there, losing {cut['n_tokens_cut'] / cut['n_tokens']:.1%} of all tokens"
                )
                counts[line] = counts.get(line, 0) + 1
    return [line + (f" ({n} of {len(cells)} cells)" if n < len(cells) else "") for line, n in counts.items()]
