"""A corpus with its questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.records.documents import Documents
from components.records.samples import Sample


@dataclass(frozen=True)
class Benchmark:
    """What a data set loads: a corpus, samples, and what had to be decided on the way.

    `notes` are counts for the record (skipped empty documents, merged duplicates, gold added to the corpus, ...).
    `labels` maps topic, task and subset slugs to readable English labels; a slug without one is shown as it is.
    """

    documents: Documents
    samples: tuple[Sample, ...]
    notes: Mapping[str, int | float | str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
