"""Packages that most sweeps load before their first stage ends. The fork server loads them once for all workers."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

from components.tokenizers.cl100k import Cl100k
from runner.engine import environment

PRELOADS: Sequence[Callable[[], object]] = (
    partial(import_module, "pandas"),  # pyarrow looks for pandas
    partial(import_module, "rjieba"),
    partial(Cl100k().token_ends, ["word"]),  # a first call loads the vocabulary
    partial(import_module, "scipy.sparse.csgraph"),
    partial(import_module, "scipy.special"),
    partial(import_module, "sacrebleu.metrics.bleu"),
    environment.versions,
    partial(import_module, "faiss"),
    partial(import_module, "scipy.stats"),
    partial(import_module, "sklearn.utils.extmath"),
)
"""Loaders in order of importance. The rest is skipped when the first worker starts: workers then load it themselves.

Loaders must not start threads, as a parallel loop does, because the process could then not be forked.
"""
