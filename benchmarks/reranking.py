"""Pairs per second of the reranker `cross_encoder` and of the package's own `CrossEncoder.predict`, side by side.

The model is a BERT of 6 layers and 384 dimensions with random weights, timed in seconds of one core, which other work
on the machine does not change. The pairs are real: questions about CRUD-RAG's news with chunks of the news, as in a
sweep.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import crud_rag
from benchmarks.child import in_child
from benchmarks.chunks import chunk_spans
from benchmarks.measure import Bound, Measure
from benchmarks.random_bert import MAX_TOKENS, save_random_bert
from benchmarks.settings import Settings

_N_ROUNDS = 3
_CHUNKS_PER_QUESTION = 10

Pair = tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """Seconds for the same pairs, the best of several rounds each. `largest_difference` is over all scores."""

    n_pairs: int
    package_s: float
    own_s: float
    largest_difference: float

    def measure(self, name: str) -> Measure:
        """Return the ratio of the two speeds."""
        detail = (
            f"{self.n_pairs / self.own_s:.1f} / {self.n_pairs / self.package_s:.1f} pairs per second of one core; "
            f"{self.n_pairs} pairs; largest difference {self.largest_difference:.0e}"
        )
        return Measure(name, self.package_s / self.own_s, "x", detail, Bound(1.0, at_least=True))


def measure(settings: Settings) -> list[Measure]:
    """Compare both in one process."""
    return [compared.measure(name) for name, compared in in_child(compare, settings).value.items()]


def compare(settings: Settings) -> dict[str, Compared]:
    """Compare chunks of one size, and of several sizes, whose lengths differ more."""
    import torch

    torch.set_num_threads(1)
    n_pairs = 4 * settings.scale.n_subset_items
    documents = crud_rag.documents(settings.crud_rag, 2000)
    folder = save_random_bert(
        settings.scratch / "bert",
        documents,
        n_layers=6,
        n_dimensions=384,
        architecture="BertForSequenceClassification",
    )
    questions = crud_rag.queries(settings.crud_rag, n_pairs // _CHUNKS_PER_QUESTION)
    sizes = {"chunks of 128 tokens": (128,), "chunks of 32 to 512 tokens": (32, 64, 128, 512)}
    found = {}
    for name, of_sizes in sizes.items():
        chunks = [chunk for size in of_sizes for chunk in _chunks(documents, size, n_pairs // len(of_sizes))]
        order = np.random.default_rng(0).permutation(len(chunks))
        pairs = [(questions[number % len(questions)], chunks[place]) for number, place in enumerate(order)]
        found[name] = _compare(folder, pairs)
    return found


def _chunks(documents: list[str], size: int, n: int) -> list[str]:
    """Return `n` distinct chunks from the whole corpus."""
    from components.records import SpanTexts

    distinct = list(dict.fromkeys(SpanTexts(documents, chunk_spans(documents, size))))
    return distinct[:: len(distinct) // n][:n]


def _compare(folder: Path, pairs: list[Pair]) -> Compared:
    """Run both in turns, so that they see the same state of the machine."""
    from sentence_transformers import CrossEncoder
    from torch import nn

    from components.records import Passages
    from components.rerankers.cross_encoder import PretrainedCrossEncoder

    package = CrossEncoder(str(folder), device="cpu", max_length=MAX_TOKENS, activation_fn=nn.Identity())
    own = PretrainedCrossEncoder(str(folder), device="cpu")
    queries, chunks = zip(*pairs, strict=True)
    places = np.repeat(np.arange(len(pairs), dtype=np.int32)[:, np.newaxis], 2, axis=1)

    def predict() -> NDArray[np.float32]:
        scores: NDArray[np.float32] = package.predict(pairs, show_progress_bar=False)
        return scores

    def score() -> NDArray[np.float32]:
        return own.score(Passages(queries), Passages(chunks), places)

    package.predict(pairs[:8])
    own.score(Passages(queries), Passages(chunks), places[:8])
    seconds: dict[Callable[[], NDArray[np.float32]], list[float]] = {predict: [], score: []}
    scores = {}
    for work in [predict, score] * _N_ROUNDS:
        started = time.process_time()
        scores[work] = work()
        seconds[work].append(time.process_time() - started)
    difference = float(np.abs(scores[predict] - scores[score]).max())
    return Compared(len(pairs), min(seconds[predict]), min(seconds[score]), difference)
