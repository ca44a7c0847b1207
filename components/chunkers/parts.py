"""Packing sentences within parts of documents, so that no chunk goes on from one part into the next."""

from components.chunkers.sentence import SentencePacking
from components.chunkers.token_window import tidy
from components.records import Documents, Segments, Spans, SpanTexts
from components.text.tables import segments_of


def packed_within(parts: Spans, packing: SentencePacking, documents: Documents, segments: Segments) -> Spans:
    """The chunks of all parts, each packed as if it were a document, sorted by (document, start)."""
    texts = SpanTexts(documents.texts, parts)
    names = [str(number) for number in range(len(texts))]
    packed = packing.chunk(Documents(names, names, texts), segments_of(segments, parts))
    first = parts.start[packed.document]
    return tidy(documents, Spans(parts.document[packed.document], packed.start + first, packed.end + first))
