"""A smaller part of the corpus for quick runs."""

from collections.abc import Sequence

from components.datasets.sampling import allocate, draw
from components.records import Documents, Sample


def limit_documents(documents: Documents, samples: Sequence[Sample], most: int | None, seed: int) -> Documents:
    """At most `most` documents (None for all), in their order: those that the samples name, as gold or as passages,
    then others, drawn by `seed`. Those that are named are kept even if they are more.

    A smaller part is one of a larger: documents are drawn one after the other. Of corpora that lie side by side (see
    `Sample.corpus_prefix`) each gets its proportional share.
    """
    if most is None or most >= len(documents):
        return documents
    named = {unit.document_id for sample in samples for unit in sample.gold}
    named |= {passage for sample in samples for passage in sample.passages}
    kept = {document_id for document_id in documents.ids if document_id in named}
    prefixes = sorted({sample.corpus_prefix for sample in samples}, key=len, reverse=True)
    others: dict[str, list[str]] = {}
    for document_id in documents.ids:
        prefix = next((prefix for prefix in prefixes if document_id.startswith(prefix)), None)
        if document_id not in kept and prefix is not None:
            others.setdefault(prefix, []).append(document_id)
    n_others = min(max(most - len(kept), 0), sum(map(len, others.values())))
    if n_others:
        shares = allocate({prefix: len(ids) for prefix, ids in others.items()}, n_others, seed)
        for prefix, n in shares.items():
            kept.update(sorted(others[prefix], key=lambda document_id: draw(seed, document_id))[:n])
    return documents.at([row for row, document_id in enumerate(documents.ids) if document_id in kept])
