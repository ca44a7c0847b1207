"""Pairs per second of the reranker `cross_encoder` and of the package's own `CrossEncoder.predict`, side by side.

On a CPU, the model is a BERT of 6 layers and 384 dimensions, timed in seconds of one core, which other work on the
machine does not change. On a GPU, if there is one, it has 12 layers and 768 dimensions (as BGE's base reranker) in
bfloat16, timed in seconds of the clock. Weights are random. The pairs are real: questions about CRUD-RAG's news with
chunks of the news, as in a sweep.
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
class SpeedComparison:
    """Seconds for the same pairs, the best of several rounds each. `largest_difference` is over all scores."""

    n_pairs: int
    package_s: float
    own_s: float
    largest_difference: float

    def measure(self, name: str, clock: str) -> Measure:
        """Return the ratio of the two speeds."""
        detail = (
            f"{self.n_pairs / self.own_s:,.1f} / {self.n_pairs / self.package_s:,.1f} pairs per second {clock}; "
            f"{self.n_pairs:,} pairs; largest difference {self.largest_difference:.0e}"
        )
        return Measure(name, self.package_s / self.own_s, "x", detail, Bound(1.0, at_least=True))


def measure(settings: Settings) -> list[Measure]:
    """Return the measures. Each device has a separate process; machines without a GPU leave it out."""
    measures = [own.measure(name, "of one core") for name, own in in_child(on_cpu, settings).value.items()]
    on_a_gpu = in_child(on_gpu, settings).value
    return measures + [own.measure(f"on a GPU: {name}", "of the clock") for name, own in on_a_gpu.items()]


def on_cpu(settings: Settings) -> dict[str, SpeedComparison]:
    """Compare both on one thread, in seconds of its core."""
    import torch

    torch.set_num_threads(1)
    return _compare_sizes(settings, 4 * settings.scale.n_subset_items, 6, 384, "cpu", "float32", time.process_time)


def on_gpu(settings: Settings) -> dict[str, SpeedComparison]:
    """Compare both on the GPU. Return nothing if the machine has no GPU."""
    import torch

    if not torch.cuda.is_available():
        return {}
    n_pairs = settings.scale.n_embedded_on_gpu // 10
    return _compare_sizes(settings, n_pairs, 12, 768, "cuda", "bfloat16", time.perf_counter)


def _compare_sizes(
    settings: Settings,
    n_pairs: int,
    n_layers: int,
    n_dimensions: int,
    device: str,
    dtype: str,
    clock: Callable[[], float],
) -> dict[str, SpeedComparison]:
    """Compare chunks of one size, and of several sizes, whose lengths differ more."""
    documents = crud_rag.documents(settings.crud_rag, max(2000, n_pairs // 2))
    folder = save_random_bert(
        settings.scratch / "bert",
        documents[:2000],
        n_layers=n_layers,
        n_dimensions=n_dimensions,
        architecture="BertForSequenceClassification",
    )
    questions = crud_rag.queries(settings.crud_rag, n_pairs // _CHUNKS_PER_QUESTION)
    sizes = {"chunks of 128 tokens": (128,), "chunks of 32 to 512 tokens": (32, 64, 128, 512)}
    found = {}
    for name, chunk_sizes in sizes.items():
        chunks = [chunk for size in chunk_sizes for chunk in _chunks(documents, size, n_pairs // len(chunk_sizes))]
        order = np.random.default_rng(0).permutation(len(chunks))
        pairs = [(questions[number % len(questions)], chunks[place]) for number, place in enumerate(order)]
        found[name] = _compare(folder, pairs, device, dtype, clock)
    return found


def _chunks(documents: list[str], size: int, n: int) -> list[str]:
    """Return `n` distinct chunks from the whole corpus."""
    from components.records import SpanTexts

    distinct = list(dict.fromkeys(SpanTexts(documents, chunk_spans(documents, size))))
    return distinct[:: len(distinct) // n][:n]


def _compare(folder: Path, pairs: list[Pair], device: str, dtype: str, clock: Callable[[], float]) -> SpeedComparison:
    """Run both in turns, so that they see the same state of the machine."""
    import torch
    from sentence_transformers import CrossEncoder
    from torch import nn

    from components.pretrained.dtype import Dtype
    from components.records import Passages
    from components.rerankers.cross_encoder import PretrainedCrossEncoder

    package = CrossEncoder(str(folder), device=device, max_length=MAX_TOKENS, activation_fn=nn.Identity())
    package.to(getattr(torch, dtype))
    own = PretrainedCrossEncoder(str(folder), device=device, dtype=Dtype(dtype))
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
        started = clock()
        scores[work] = work()
        seconds[work].append(clock() - started)
    difference = float(np.abs(scores[predict] - scores[score]).max())
    return SpeedComparison(len(pairs), min(seconds[predict]), min(seconds[score]), difference)
