"""What is wrong with a cell's components for the data set that it has: found once that is loaded, before any work."""

from components.protocols import ChecksSamples
from runner.engine.ask import is_language_model
from runner.engine.store import Store
from runner.engine.worker import read_kept
from runner.pipeline.cell import Cell, searches
from runner.pipeline.data import Data
from runner.pipeline.sample_codec import decode_samples


def data_mistakes(cell: Cell, data: Data, store: Store) -> list[str]:
    """Of the components that look at samples. Raises DataError if the data set has to be read again, and cannot be."""
    variants = cell.expander.variants if searches(cell.retriever) else ()
    histories = (cell.history,) if is_language_model(cell.llm) else ()
    checking = [part for part in (*variants, *histories) if isinstance(part, ChecksSamples)]
    if not checking:
        return []
    samples = read_kept(data.loaded, store, lambda entry: decode_samples(entry.part("samples")))
    return [mistake for part in checking for mistake in part.check_samples(samples)]
