"""What most sweeps load before their first stage is done, for the fork server that their workers are copies of."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

from components.tokenizers.cl100k import Cl100k
from runner.engine import environment

PRELOADS: Sequence[Callable[[], object]] = (
    partial(import_module, "pandas"),  # pyarrow looks for it
    partial(import_module, "rjieba"),
    partial(Cl100k().token_ends, ["word"]),  # its vocabulary
    partial(import_module, "scipy.sparse.csgraph"),
    partial(import_module, "scipy.special"),
    partial(import_module, "sacrebleu.metrics.bleu"),
    environment.versions,
    partial(import_module, "faiss"),
    partial(import_module, "scipy.stats"),
    partial(import_module, "sklearn.utils.extmath"),
)
"""Those that the most sweeps need come first: what is not loaded when the first worker is wanted, workers load. All of
it only loads: what starts threads, as a parallel loop does, could not be forked any more.
"""
