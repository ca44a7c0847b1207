"""Tokens per second of the embedder `sentence_transformers` and of the package's own `encode`, side by side.

On a CPU, the model is a BERT of 6 layers and 384 dimensions, timed in seconds of one core, which other work on the
machine does not change. On a GPU, if there is one, it is a BERT of 12 layers and 768 dimensions (as BGE base) in
bfloat16, timed in seconds of the clock. Weights are random. Texts are real: chunks of CRUD-RAG's news, as in a sweep.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
_EQUAL = 120
"""Characters per text; with the two special tokens, about the number of tokens."""
_MATRIX = 8192
"""Size of the square matrices whose product measures the GPU's peak."""


@dataclass(frozen=True)
class Compared:
    """Seconds for the same texts, the best of several rounds each. `largest_difference` is over all dimensions."""

    n_texts: int
    n_tokens: int
    package_s: float
    own_s: float
    largest_difference: float
    share_of_peak: float = 0.0

    def measure(self, name: str, clock: str, at_least: float) -> Measure:
        """Return the ratio of the two speeds."""
        own, package = self.n_tokens / self.own_s, self.n_tokens / self.package_s
        detail = (
            f"{own:,.0f} / {package:,.0f} tokens per second {clock}; {self.n_texts:,} texts; largest difference "
            f"{self.largest_difference:.0e}"
        )
        return Measure(name, self.package_s / self.own_s, "x", detail, Bound(at_least, at_least=True))


def measure(settings: Settings) -> list[Measure]:
    """Return the measures. Each set of texts runs in a separate process, on the GPU only if there is one."""
    found = in_child(on_cpu, settings).value
    bounds = {"texts of equal length": 1.0, "chunks of 128 tokens": 1.0, "chunks of 32 to 512 tokens": 1.0}
    measures = [found[name].measure(name, "of one core", bound) for name, bound in bounds.items()]
    gpu = in_child(on_gpu, settings).value
    if gpu:
        peak = f"of what products of {_MATRIX} x {_MATRIX} matrices reach on it"
        measures.append(gpu.measure("on a GPU: chunks of 128 tokens", "of the clock", 1.5))
        measures.append(Measure("on a GPU: share of its peak", gpu.share_of_peak, "share", peak))
    return measures


def on_cpu(settings: Settings) -> dict[str, Compared]:
    """Compare both on one thread, in seconds of its core."""
    import torch

    torch.set_num_threads(1)
    n = settings.scale.n_embedded
    documents = crud_rag.documents(settings.crud_rag, 4 * n)
    folder = save_random_bert(settings.scratch / "bert", documents, n_layers=6, n_dimensions=384)
    long = [text for text in documents if len(text) >= _EQUAL]
    texts = {
        "texts of equal length": [text[:_EQUAL] for text in long[:n]],
        "chunks of 128 tokens": _spread(_chunks(documents, 128), n),
        "chunks of 32 to 512 tokens": [
            text for size in (32, 64, 128, 512) for text in _spread(_chunks(documents, size), n // 4)
        ],
    }
    return {name: _compare(folder, own, "cpu", "float32", time.process_time) for name, own in texts.items()}


def on_gpu(settings: Settings) -> Compared | None:
    """Compare both on the GPU; None without one."""
    import torch

    if not torch.cuda.is_available():
        return None
    documents = crud_rag.documents(settings.crud_rag, settings.scale.n_corpus_documents)
    folder = save_random_bert(settings.scratch / "bert", documents[:5000], n_layers=12, n_dimensions=768)
    chunks = _chunks(documents, 128)
    texts = _spread(chunks, settings.scale.n_embedded_on_gpu)
    compared = _compare(folder, texts, "cuda", "bfloat16", time.perf_counter)
    flops = _flops(compared, n_layers=12, n_dimensions=768)
    return replace(compared, share_of_peak=flops / compared.own_s / _peak_flops())


def _chunks(documents: Sequence[str], size: int) -> list[str]:
    from components.records import SpanTexts

    return list(SpanTexts(documents, chunk_spans(documents, size)))


def _spread(texts: Sequence[str], n: int) -> list[str]:
    """Return up to `n` distinct texts from the whole list."""
    distinct = list(dict.fromkeys(texts))
    return distinct[:: max(1, len(distinct) // n)][:n]


def _compare(folder: Path, texts: list[str], device: str, dtype: str, clock: Callable[[], float]) -> Compared:
    """Run both in turns, so that they see the same state of the machine."""
    import torch
    from sentence_transformers import SentenceTransformer

    from components.embedders.sentence_transformers import SentenceTransformers
    from components.pretrained.dtype import Dtype
    from components.records import Passages

    package = SentenceTransformer(str(folder), device=device).to(getattr(torch, dtype))
    own = SentenceTransformers(str(folder), "", dtype=Dtype(dtype), device=device)

    def encode() -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = package.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return vectors

    def embed() -> NDArray[np.float32]:
        return own.embed_chunks(Passages(texts), {})

    package.encode(texts[:8])
    own.embed_chunks(Passages(texts[:8]), {})
    seconds: dict[Callable[[], NDArray[np.float32]], list[float]] = {encode: [], embed: []}
    vectors = {}
    for work in [encode, embed] * _N_ROUNDS:
        started = clock()
        vectors[work] = work()
        seconds[work].append(clock() - started)
    difference = float(np.abs(vectors[encode].astype(np.float32) - vectors[embed]).max())
    n_tokens = int(np.minimum(own.count_chunk_tokens(texts), MAX_TOKENS).sum())
    return Compared(len(texts), n_tokens, min(seconds[encode]), min(seconds[embed]), difference)


def _flops(compared: Compared, *, n_layers: int, n_dimensions: int) -> float:
    """Return the operations of the matrix products of all tokens: 12 d^2 weights per layer, and the attention to their
    text.
    """
    per_text = compared.n_tokens / compared.n_texts
    return compared.n_tokens * n_layers * (2 * 12 * n_dimensions**2 + 4 * n_dimensions * per_text)


def _peak_flops() -> float:
    """Return the operations per second in products of bfloat16 matrices."""
    import torch

    left, right = (torch.randn(_MATRIX, _MATRIX, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        started = time.perf_counter()
        left @ right
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started)
    return 2 * _MATRIX**3 / best
