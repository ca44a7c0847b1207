"""Memory and disk that pretrained models and their encodings of a corpus take, known before any work."""

from collections.abc import Iterator

from components.pretrained.dtype import Dtype
from components.pretrained.model_files import ModelFiles, model_files
from components.protocols import AnyChunker, AsksInBatches, KnowsTokenBytes, TokenWeigher
from runner.engine.stage import AnyStage
from runner.engine.store import Store
from runner.pipeline.cell import Cell
from runner.pipeline.cell_graph import Graph
from runner.pipeline.corpus.loaded_data import DatasetStages, some_documents
from runner.pipeline.search.encoded_search import EncodedChunks
from runner.pipeline.search.graph_search import FactVectors
from runner.pipeline.search.token_vectors import ChunkTokenVectors
from runner.pipeline.search.weighed_texts import SparseChunkVectors

_N_COUNTED = 64
"""Number of documents whose tokens are counted, spread over the corpus."""

_BYTES = {Dtype.FLOAT32: 4, Dtype.BFLOAT16: 2, Dtype.FLOAT16: 2}
"""Bytes of a parameter."""

_BYTES_PER_WEIGHT = 8
"""Bytes of a token weight: an int32 id and a float32."""


def memory_lines(cell: Cell, graph: Graph, store: Store, cache: dict[object, str]) -> tuple[str, ...]:
    """Return a line for each model with weights on this machine, and for each encoder that stores several numbers per
    token.

    Stages with stored results have no line. `cache` has the lines of encoders that were estimated before. Raises
    DataError if the data set has errors, and ComponentError if a tokenizer cannot be loaded.
    """
    lines: list[str] = []
    for stage in graph.result.upstream():
        if stage.models and not store.is_cached(stage.kind, stage.key):
            lines += [*_model_lines(stage), *_encoding_lines(stage, cell.chunk, graph.data, store, cache)]
    return tuple(dict.fromkeys(lines))


def _model_lines(stage: AnyStage) -> Iterator[str]:
    """Yield the size of the weights of each model that runs in this process."""
    for part in stage.components():
        model, dtype = getattr(part, "model", None), getattr(part, "dtype", None)
        if not (model and isinstance(dtype, Dtype)):
            continue
        files = model_files(model, getattr(part, "revision", ""))
        if files is not None:
            yield f"memory: {_size(files, dtype)} for the weights of {model}, in each process that runs it"


def _size(files: ModelFiles, dtype: Dtype) -> str:
    n = files.n_parameters
    return (
        f"about {_in_bytes(files.n_bytes)}"
        if n is None
        else f"{_in_bytes(n * _BYTES[dtype])} ({n:,} parameters in {dtype})"
    )


def _encoding_lines(
    stage: AnyStage, chunker: AnyChunker, data: DatasetStages, store: Store, cache: dict[object, str]
) -> Iterator[str]:
    if isinstance(stage, EncodedChunks | ChunkTokenVectors) and isinstance(stage.encoder, KnowsTokenBytes):
        key = stage.encoder, data.key, _overlap(chunker)
        if key not in cache:
            cache[key] = _token_vectors_line(stage.encoder, chunker, data, store)
        yield cache[key]
    elif isinstance(stage, SparseChunkVectors):
        yield _token_weights_line(stage.encoder)
    elif isinstance(stage, FactVectors) and isinstance(stage.embedder, AsksInBatches):
        yield "requests for vectors of facts: their number is known once the facts are stored"


def _token_vectors_line(encoder: KnowsTokenBytes, chunker: AnyChunker, data: DatasetStages, store: Store) -> str:
    """Return the size of the vectors of all chunks, estimated from the tokens of some documents."""
    name, per_token = _name_encoder(encoder), encoder.bytes_per_token()
    if per_token is None:
        return f"disk: unknown for the token vectors of {name}, because the model is not on this machine"
    texts = some_documents(data, store, _N_COUNTED).texts
    per_document = encoder.count_chunk_tokens(texts).mean() if len(texts) else 0
    n_tokens = round(per_document * data.n_documents / (1 - _overlap(chunker)))
    return (
        f"disk: about {_in_bytes(n_tokens * per_token)} for the token vectors of {name} for each chunking, twice "
        f"that during encoding ({per_token:,} bytes for each of about {float(f'{n_tokens:.2g}'):,.0f} tokens)"
    )


def _token_weights_line(encoder: TokenWeigher) -> str:
    limit = getattr(encoder, "max_weights", None)
    number = (
        f"at most {limit:,} of each chunk" if limit else "the number is known only after encoding (limit: max_weights)"
    )
    return f"memory: {_BYTES_PER_WEIGHT} bytes for each token weight of {_name_encoder(encoder)}; {number}"


def _overlap(chunker: AnyChunker) -> float:
    """Return the share of a searched chunk that the next chunk repeats."""
    searched_chunker = getattr(chunker, "children", chunker)
    return float(getattr(searched_chunker, "overlap", 0.0))


def _name_encoder(encoder: object) -> str:
    return str(getattr(encoder, "model", type(encoder).__name__))


def _in_bytes(n: float) -> str:
    """Format a number of bytes to two significant digits: "0.44 GB", "130 MB", "0.2 MB"."""
    unit, name = (10**9, "GB") if n >= 10**9 / 10 else (10**6, "MB")
    return f"{n / unit:.2g} {name}" if n < 100 * unit else f"{n / unit:,.0f} {name}"
