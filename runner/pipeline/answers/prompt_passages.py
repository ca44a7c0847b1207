"""Passages in the prompts of a cell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.contexts.neighbours import divide_into_passages
from components.fields import added_later
from components.pipelines.pipeline_reply import parse_stored_replies
from components.records import Answer, Context, Documents, Passage, Spans, SpanTexts
from runner.engine.stage import Stage, StageGroup
from runner.engine.stage_run import Run
from runner.pipeline.corpus.chunk_stages import ChunkFacts


@dataclass(frozen=True)
class RetrievedPassages(StageGroup):
    """Passages of each prompt, from the retrieved chunks."""

    corpus: Stage[Documents]
    chunks: Stage[Spans]
    context: Stage[Context]
    merges: bool = added_later(False)
    """True if neighbouring chunks are merged into one passage."""
    facts: tuple[ChunkFacts, ...] = added_later(())
    """Facts about the chunks, if the chunker knows any. At most one stage."""

    def read(self, run: Run) -> Iterator[tuple[Passage, ...]]:
        """Yield the passages in each sample's prompt, in order.

        A passage has the title and the metadata of its document, and the known facts about its first chunk.
        """
        facts = next((run.read(stage) for stage in self.facts), None)
        documents, texts = run.read(self.corpus), SpanTexts(run.read(self.corpus).texts, run.read(self.chunks))
        for passages in self.chunks_of(run):
            yield tuple(
                _passage(self.text_of(texts, chunks), documents, int(texts.spans.document[chunks[0]]), chunk_facts)
                for chunks in passages
                for chunk_facts in [facts[self.hits_of(run, chunks)[0]] if facts else {}]
            )

    def chunks_of(self, run: Run) -> Iterator[list[tuple[int, ...]]]:
        """Yield the chunks of each passage in each sample's prompt, in order."""
        spans = run.read(self.chunks)
        for row in run.read(self.context).chunk.tolist():
            chosen = [chunk for chunk in row if chunk >= 0]
            yield divide_into_passages(chosen, spans) if self.merges else [(chunk,) for chunk in chosen]

    def hits_of(self, run: Run, chunks: Sequence[int]) -> Sequence[int]:
        """Return the chunks of a passage, in order, as the ranking and `facts` number them."""
        return chunks

    def text_of(self, texts: SpanTexts, chunks: Sequence[int]) -> str:
        """Return the text of the passage that consists of these chunks."""
        return texts.join_spans(chunks)


@dataclass(frozen=True)
class NoPassages(StageGroup):
    """Prompts without passages, for a closed-book cell."""

    context: Stage[Context]

    def read(self, run: Run) -> Iterator[tuple[Passage, ...]]:
        """Yield no passages for each sample."""
        return iter([()] * len(run.read(self.context).chunk))


def _passage(text: str, documents: Documents, document: int, facts: Mapping[str, str]) -> Passage:
    metadata = documents.metadata[document] if documents.metadata else {}
    return Passage(text, documents.titles[document], {**metadata, **facts})


@dataclass(frozen=True)
class PipelinePassages(StageGroup):
    """Passages that a custom pipeline says it used, as it wrote them."""

    replies: Stage[Sequence[Answer]]

    def read(self, run: Run) -> Iterator[tuple[Passage, ...]]:
        """Yield the passages of each sample, in order. () if the pipeline gave none."""
        for reply in parse_stored_replies(run.read(self.replies)):
            passages = reply.passages if reply else None
            yield tuple(Passage(passage.text) for passage in passages or ())


PromptPassages = RetrievedPassages | NoPassages

AnyPassages = PromptPassages | PipelinePassages
