"""A corpus with its questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.records.documents import Documents
from components.records.samples import Sample


@dataclass(frozen=True)
class Benchmark:
    """The content of a data set: a corpus, samples, and notes about loading them.

    `notes` are counts for the record, such as skipped empty documents, merged duplicates, and gold added to the corpus.
    `labels` maps slugs of topics, tasks and subsets to readable English labels. A slug without a label is its own
    label.
    """

    documents: Documents
    samples: tuple[Sample, ...]
    notes: Mapping[str, int | float | str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
