"""Finds components of a cell that do not suit its data set, once the data set is loaded and before any work is done."""

from collections import Counter
from collections.abc import Sequence

from components.protocols import ChecksMetadata, ChecksSamples
from components.records import Sample
from runner.engine.ask import is_language_model
from runner.engine.store import Store
from runner.engine.worker import read_kept
from runner.pipeline.cell import Cell
from runner.pipeline.combination_mistakes import searches
from runner.pipeline.corpus.loaded_data import Data, metadata_names
from runner.pipeline.corpus.sample_codec import decode_samples


def data_mistakes(cell: Cell, data: Data, pool: Data | None, store: Store) -> list[str]:
    """Return errors of the components that check samples or metadata, and of too few few-shot examples in `pool`.

    Raises DataError if a data set has to be read again and cannot be.
    """
    variants = cell.expander.variants if searches(cell.retriever) else ()
    histories = (cell.history,) if is_language_model(cell.llm) else ()
    checking = [part for part in (*variants, *histories) if isinstance(part, ChecksSamples)]
    mistakes: list[str] = []
    if checking:
        samples = _samples(data, store)
        mistakes += [mistake for part in checking for mistake in part.check_samples(samples)]
    filters = (cell.filter,) if searches(cell.retriever) else ()
    prompts = (cell.prompt,) if is_language_model(cell.llm) and cell.retriever.arms else ()
    if reading := [part for part in (*filters, *prompts) if isinstance(part, ChecksMetadata)]:
        names, samples = metadata_names(data, store), _samples(data, store)
        mistakes += [mistake for part in reading for mistake in part.check_metadata(names, samples)]
    if pool and is_language_model(cell.llm):
        mistakes += _too_few_examples(cell.examples.n, _samples(data, store), _samples(pool, store))
    return mistakes


def _samples(data: Data, store: Store) -> tuple[Sample, ...]:
    return read_kept(data.loaded, store, lambda entry: decode_samples(entry.part("samples")))


def _too_few_examples(n: int, samples: Sequence[Sample], pool: Sequence[Sample]) -> list[str]:
    n_of_kind = Counter(sample.kind for sample in pool if sample.references and sample.gold)
    return [
        f"examples.n: got {n}, but the examples' data set has {n_of_kind[kind]} samples of the kind {kind.value} with "
        "a reference and gold; use fewer examples or a larger split"
        for kind in sorted({sample.kind for sample in samples})
        if n_of_kind[kind] < n
    ]
