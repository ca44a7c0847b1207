"""Stages that read the data set and split its corpus: data, corpus, samples, segments, chunks, terms, queries."""

from components.records import Passages, SpanTexts
from components.text.tables import build_term_table, query_terms, segment
from runner.engine.stage import Inputs, Output, Stage
from runner.pipeline import payloads
from runner.pipeline.payloads import encode_arrays


def load(stage: Stage, inputs: Inputs) -> Output:
    """The data set: documents, samples, labels, notes, and `content`, the hashes that stand for the first three."""
    return Output(payloads.encode_benchmark(stage.component.load()))


def take_corpus(stage: Stage, inputs: Inputs) -> Output:
    """The documents alone: equal for all data sets with the same texts, whatever is asked about them."""
    return Output({"documents": inputs.entry("data").read("documents")["documents"]})


def take_samples(stage: Stage, inputs: Inputs) -> Output:
    """The samples with their labels."""
    return Output(inputs.entry("data").read("samples", "labels"))


def segment_corpus(stage: Stage, inputs: Inputs) -> Output:
    """Where tokens and sentences end; the component is the tokenizer, or None for characters."""
    documents = inputs.read("corpus", payloads.decode_documents)
    return Output(encode_arrays(segment(documents.texts, stage.component)))


def chunk(stage: Stage, inputs: Inputs) -> Output:
    """Spans of the corpus."""
    documents = inputs.read("corpus", payloads.decode_documents)
    segments = inputs.read("segments", payloads.decode_segments)
    return Output(encode_arrays(stage.component.chunk(documents, segments)))


def corpus_terms(stage: Stage, inputs: Inputs) -> Output:
    """The terms of the corpus for one word tokenizer."""
    documents = inputs.read("corpus", payloads.decode_documents)
    return Output(payloads.encode_term_table(build_term_table(documents.texts, stage.component)))


def expand(stage: Stage, inputs: Inputs) -> Output:
    """One query text per sample; without retrieval there is no expander, and the question stands for the query."""
    samples = inputs.read("samples", payloads.decode_samples)
    return Output({"queries": stage.component.expand(samples) if stage.component else [s.question for s in samples]})


def terms_of_queries(stage: Stage, inputs: Inputs) -> Output:
    """The queries' terms in the vocabulary of the corpus."""
    queries = inputs.read("queries", payloads.decode_queries)
    vocabulary = inputs.read("terms", payloads.decode_term_table).vocabulary
    return Output(payloads.encode_terms(query_terms(queries, stage.component, vocabulary)))


def document_passages(inputs: Inputs) -> Passages:
    """Whole documents, with their terms where the stage has them."""
    documents = inputs.read("corpus", payloads.decode_documents)
    terms = inputs.read("terms", payloads.decode_term_table).of_documents() if inputs.has("terms") else None
    return Passages(documents.texts, terms)


def chunk_passages(inputs: Inputs) -> Passages:
    """Chunks, with their terms where the stage has them."""
    documents = inputs.read("corpus", payloads.decode_documents)
    spans = inputs.read("chunks", payloads.decode_spans)
    terms = inputs.read("terms", payloads.decode_term_table).of_chunks(spans) if inputs.has("terms") else None
    return Passages(SpanTexts(documents.texts, spans), terms)


def query_passages(inputs: Inputs) -> Passages:
    """Queries, with their terms where the stage has them."""
    queries = inputs.read("queries", payloads.decode_queries)
    terms = inputs.read("query_terms", payloads.decode_terms) if inputs.has("query_terms") else None
    return Passages(queries, terms)
