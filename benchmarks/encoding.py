"""Tokens per second of our encoders and of sentence-transformers' own `encode`, side by side: vectors of texts, token
weights (SPLADE) and token vectors (ColBERT).

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
class SpeedComparison:
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
    for kind in (token_weights, token_vectors):
        name = f"{kind.__name__.replace('_', ' ')}: chunks of 128 tokens"
        measures.append(in_child(kind, settings).value.measure(name, "of one core", 1.0))
    gpu = in_child(on_gpu, settings).value
    if gpu:
        peak = f"of the peak measured with {_MATRIX} x {_MATRIX} matrix products"
        measures.append(gpu.measure("on a GPU: chunks of 128 tokens", "of the clock", 1.5))
        measures.append(Measure("on a GPU: share of its peak", gpu.share_of_peak, "share", peak))
    return measures


def on_cpu(settings: Settings) -> dict[str, SpeedComparison]:
    """Compare both on one thread, in seconds of its core."""
    import torch

    torch.set_num_threads(1)
    n = settings.scale.n_embedded
    documents = crud_rag.documents(settings.crud_rag, 4 * n)
    folder = save_random_bert(settings.scratch / "bert", documents, n_layers=6, n_dimensions=384)
    long = [text for text in documents if len(text) >= _EQUAL]
    texts = {
        "texts of equal length": [text[:_EQUAL] for text in long[:n]],
        "chunks of 128 tokens": _pick_evenly(_chunks(documents, 128), n),
        "chunks of 32 to 512 tokens": [
            text for size in (32, 64, 128, 512) for text in _pick_evenly(_chunks(documents, size), n // 4)
        ],
    }
    return {name: _compare(folder, own, "cpu", "float32", time.process_time) for name, own in texts.items()}


def token_weights(settings: Settings) -> SpeedComparison:
    """Compare our encoder with `SparseEncoder.encode_document`, on one thread."""
    import torch
    from sentence_transformers import SparseEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sparse_encoder.modules import SpladePooling

    from components.records import Passages
    from components.sparse_encoders.sparse_text_encoder import SparseTextEncoder

    torch.set_num_threads(1)
    texts, bert = _texts_and_bert(settings, "BertForMaskedLM")
    folder = str(settings.scratch / "splade")
    network = Transformer(str(bert), transformer_task="fill-mask")
    SparseEncoder(modules=[network, SpladePooling()], device="cpu").save(folder, create_model_card=False)
    package, own = SparseEncoder(folder, device="cpu"), SparseTextEncoder(folder, "", device="cpu")

    def encode(texts: list[str]) -> NDArray[np.float32]:
        weights: NDArray[np.float32] = package.encode_document(texts, show_progress_bar=False).to_dense().numpy()
        return weights

    def weigh(texts: list[str]) -> NDArray[np.float32]:
        found = own.weigh_chunks(Passages(texts))
        rows = np.repeat(np.arange(len(texts)), np.diff(found.weight_offsets))
        weights = np.zeros((len(texts), package.get_embedding_dimension() or 0), dtype=np.float32)
        weights[rows, found.weight_ids] = found.weights
        return weights

    return _in_turns(encode, weigh, texts, own.count_chunk_tokens(texts), time.process_time)


def token_vectors(settings: Settings) -> SpeedComparison:
    """Compare our encoder with `MultiVectorEncoder.encode_document`, on one thread."""
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense, Normalize, Transformer

    from components.multi_vector_encoders.multi_vector_text_encoder import MultiVectorTextEncoder
    from components.records import Passages

    torch.set_num_threads(1)
    texts, bert = _texts_and_bert(settings, "BertModel")
    folder = str(settings.scratch / "colbert")
    token_options = {"bias": False, "activation_function": torch.nn.Identity(), "module_input_name": "token_embeddings"}
    modules = [
        Transformer(str(bert)),
        Dense(384, 128, **token_options),
        Normalize(module_input_name="token_embeddings"),
    ]
    MultiVectorEncoder(modules=modules, device="cpu").save(folder, create_model_card=False)
    package, own = MultiVectorEncoder(folder, device="cpu"), MultiVectorTextEncoder(folder, "", device="cpu")

    def encode(texts: list[str]) -> NDArray[np.float32]:
        found = package.encode_document(texts, show_progress_bar=False)
        return np.concatenate([each.float().cpu().numpy() for each in found])

    def embed(texts: list[str]) -> NDArray[np.float32]:
        return own.encode_chunk_tokens(Passages(texts)).vectors.astype(np.float32)

    return _in_turns(encode, embed, texts, own.count_chunk_tokens(texts), time.process_time)


def _texts_and_bert(settings: Settings, architecture: str) -> tuple[list[str], Path]:
    n = settings.scale.n_embedded
    documents = crud_rag.documents(settings.crud_rag, 4 * n)
    folder = settings.scratch / architecture
    save_random_bert(folder, documents, n_layers=6, n_dimensions=384, architecture=architecture)
    return _pick_evenly(_chunks(documents, 128), n), folder


def on_gpu(settings: Settings) -> SpeedComparison | None:
    """Compare both on the GPU. Return None if the machine has no GPU."""
    import torch

    if not torch.cuda.is_available():
        return None
    documents = crud_rag.documents(settings.crud_rag, settings.scale.n_corpus_documents)
    folder = save_random_bert(settings.scratch / "bert", documents[:5000], n_layers=12, n_dimensions=768)
    chunks = _chunks(documents, 128)
    texts = _pick_evenly(chunks, settings.scale.n_embedded_on_gpu)
    compared = _compare(folder, texts, "cuda", "bfloat16", time.perf_counter)
    flops = _flops(compared, n_layers=12, n_dimensions=768)
    return replace(compared, share_of_peak=flops / compared.own_s / _peak_flops())


def _chunks(documents: Sequence[str], size: int) -> list[str]:
    from components.records import SpanTexts

    return list(SpanTexts(documents, chunk_spans(documents, size)))


def _pick_evenly(texts: Sequence[str], n: int) -> list[str]:
    """Return up to `n` distinct texts from the whole list."""
    distinct = list(dict.fromkeys(texts))
    return distinct[:: max(1, len(distinct) // n)][:n]


def _compare(folder: Path, texts: list[str], device: str, dtype: str, clock: Callable[[], float]) -> SpeedComparison:
    import torch
    from sentence_transformers import SentenceTransformer

    from components.embedders.sentence_transformers import SentenceTransformers
    from components.pretrained.dtype import Dtype
    from components.records import Passages

    package = SentenceTransformer(str(folder), device=device).to(getattr(torch, dtype))
    own = SentenceTransformers(str(folder), "", dtype=Dtype(dtype), device=device)

    def encode(texts: list[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = package.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return vectors.astype(np.float32)

    def embed(texts: list[str]) -> NDArray[np.float32]:
        return own.embed_chunks(Passages(texts), {})

    return _in_turns(encode, embed, texts, own.count_chunk_tokens(texts), clock)


def _in_turns(
    encode: Callable[[list[str]], NDArray[np.float32]],
    embed: Callable[[list[str]], NDArray[np.float32]],
    texts: list[str],
    n_tokens: NDArray[np.int64],
    clock: Callable[[], float],
) -> SpeedComparison:
    """Run the package and our encoder in turns, so that they see the same state of the machine."""
    seconds: dict[Callable[[list[str]], NDArray[np.float32]], list[float]] = {encode: [], embed: []}
    found = {}
    for work in seconds:
        work(texts[:8])
    for work in [encode, embed] * _N_ROUNDS:
        started = clock()
        found[work] = work(texts)
        seconds[work].append(clock() - started)
    difference = float(np.abs(found[encode] - found[embed]).max())
    n_read = int(np.minimum(n_tokens, MAX_TOKENS).sum())
    return SpeedComparison(len(texts), n_read, min(seconds[encode]), min(seconds[embed]), difference)


def _flops(compared: SpeedComparison, *, n_layers: int, n_dimensions: int) -> float:
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
