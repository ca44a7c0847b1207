"""Counts the requests to embedders and rerankers behind servers before they are sent, for the plan."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import ceil

from components.openai_server.limiter import estimate_max_tokens
from components.openai_server.received_replies import ReceivedReplies
from components.protocols import AsksInBatches, KeysRequests
from runner.engine.stage import ServerRequests


def embedding_requests(
    embedder: AsksInBatches, blocks: Iterable[Sequence[str]], prefix: str | None, times: float = 1.0
) -> ServerRequests:
    """Count the requests for vectors of texts, which are passed to the embedder in these blocks.

    `prefix` precedes each text. If the blocks hold only a part of the texts, `times` extrapolates the counts to all.
    """
    n_requests = n_bytes = 0
    for texts in blocks:
        sent: Collection[str] = [(prefix or "") + text for text in texts if text.strip()]
        if isinstance(embedder, KeysRequests):  # such an embedder requests equal texts once
            sent = dict.fromkeys(sent).keys()
        n_requests += ceil(ceil(len(sent) * times) / embedder.batch_size)
        n_bytes += sum(map(_n_bytes, sent))
    return ServerRequests(embedder, n_requests, estimate_max_tokens(ceil(n_bytes * times)), times == 1.0)


def texts_to_request(
    embedder: AsksInBatches, texts: Sequence[str], received: ReceivedReplies, *, are_queries: bool
) -> Sequence[str]:
    """Return the texts that still have to be requested, without the texts that an interrupted stage has received."""
    if not isinstance(embedder, KeysRequests):
        return texts
    keys = embedder.request_keys(texts, are_queries=are_queries)
    stored = received.get_all(keys)
    return [text for text, key in zip(texts, keys, strict=True) if key not in stored] if stored else texts


def reranking_requests(reranker: AsksInBatches, blocks: Iterable[Iterable[tuple[str, str]]]) -> ServerRequests:
    """Count the requests for scores of distinct pairs of a query and a chunk, passed to the reranker in these
    blocks.
    """
    n_requests = n_bytes = 0
    for pairs in blocks:
        n_chunks: Counter[str] = Counter()
        for query, chunk in pairs:
            if query.strip() and chunk.strip():
                n_chunks[query] += 1
                n_bytes += _n_bytes(chunk)
        for query, n in n_chunks.items():
            n_requests += (n_of_query := ceil(n / reranker.batch_size))
            n_bytes += n_of_query * _n_bytes(query)
    return ServerRequests(reranker, n_requests, estimate_max_tokens(n_bytes), is_exact=True)


def max_reranking_requests(
    reranker: AsksInBatches, queries: Iterable[str], n_hits: int, chunks: Iterable[str], block_size: int
) -> ServerRequests:
    """Bound the requests for scores of `n_hits` unknown hits of each query. `chunks` are some of the possible hits.

    All hits may be as long as the longest chunk, and a query may be split between two blocks.
    """
    written = {query for query in queries if query.strip()}
    n_per_query = ceil(n_hits / reranker.batch_size)
    longest = max(map(_n_bytes, chunks), default=0)
    n_bytes = sum(n_per_query * _n_bytes(query) + n_hits * longest for query in written)
    n_cuts = max(ceil(len(written) * n_hits / block_size) - 1, 0)
    return ServerRequests(reranker, len(written) * n_per_query + n_cuts, estimate_max_tokens(n_bytes), is_exact=False)


def _n_bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
