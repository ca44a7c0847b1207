"""Search in a collection of a Qdrant server; see https://qdrant.tech/documentation/."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError, DamagedEntryError
from components.fields import runtime_only
from components.limits import too_small
from components.openai_server.access import key_problems, proxy_problems, url_problems
from components.pretrained.model_folder import missing_package_errors
from components.protocols import Arrays
from components.qdrant.server_client import IN_PROCESS, connect
from components.records import Hits
from components.text.ranking import empty_hits
from components.vector_indexes.mapped import row_blocks
from components.vector_indexes.similarity import BEYOND, rescore_hits

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_EXAMPLE = "http://localhost:6333"
_QUERIES_AT_ONCE = 64
_POLL_INTERVAL_S = 0.5


@dataclass(frozen=True)
class Qdrant:
    """Search in a collection of the Qdrant server at `base_url`.

    Building the index creates the collection "rag-grid-" plus the key of its stage. ":memory:" in place of an address
    selects the client's trial mode, whose collections end with the process.

    With `exact`, every vector is compared with every query, and the hits equal the hits of `Flat`. The exception is
    more than BEYOND chunks that tie with the last hit, among which the server chooses. Without `exact`, the server
    searches a graph (Malkov and Yashunin 2018) over segments of at least 10 MB, and each build of that graph differs
    slightly. The server only finds the nearest vectors: scores are computed here, from the full vectors.

    The key is read from the environment variable `api_key_env` ("" for a server without a key), and appears in no
    result, message or file.
    """

    exact: bool = True
    n_links: int = 16
    ef_construction: int = 100
    ef_search: int = 256
    base_url: str = runtime_only(_EXAMPLE, "the location of the vectors does not change the hits")
    api_key_env: str = runtime_only("", "a key gives access, and is secret")
    batch_size: int = runtime_only(256, "vectors that are sent together")
    timeout_s: float = runtime_only(60.0, "how long a request may take")

    version: ClassVar[int] = 1

    def check(self) -> list[str]:
        """Return error messages for numbers out of range, an unusable address, a key that is not set, and a missing
        package.
        """
        problems = too_small(self, n_links=1, ef_construction=1, ef_search=1, batch_size=1)
        if not self.timeout_s > 0:
            problems.append(f"timeout_s: got {self.timeout_s}, expected more than 0")
        if not self.base_url:
            problems.append(f"base_url: is empty, expected the server's address, such as {_EXAMPLE}")
        elif self.base_url != IN_PROCESS:
            problems += url_problems(self.base_url, _EXAMPLE) or proxy_problems(self.base_url)
        return [
            *problems,
            *key_problems(self.api_key_env),
            *map(str, missing_package_errors(["qdrant_client"], "vector_index=qdrant", "qdrant")),
        ]

    @property
    def as_built(self) -> "Qdrant":
        """The index with default values of fields that do not affect the collection: `ef_search`, and for an exact
        search all fields of the graph.
        """
        if self.exact:
            return replace(
                self, ef_search=Qdrant.ef_search, n_links=Qdrant.n_links, ef_construction=Qdrant.ef_construction
            )
        return replace(self, ef_search=Qdrant.ef_search)

    def build(self, vectors: NDArray[np.float32], place: Path) -> Arrays:
        """Return `collection`, a name that includes the name of `place`, and `n_vectors`, the number of its vectors.

        A complete collection is reused. A partial one, which an interrupted build leaves, is completed. Raises
        ComponentError if the server does not answer, or rejects a request.
        """
        name = f"rag-grid-{place.name}"
        if vectors.size:
            with self._connection() as client:
                n = _n_vectors(client, name)
                if n is not None and n > len(vectors):  # more vectors than we sent: another index filled the collection
                    client.delete_collection(name)
                    n = None
                if n is None:
                    self._make_collection(client, name, vectors.shape[1])
                if n != len(vectors):
                    self._upload(client, name, vectors)
                self._wait_for_graph(client, name)
                if (n := _n_vectors(client, name)) != len(vectors):
                    raise ComponentError(
                        f"{self._label(name)} has {n} vectors, expected the {len(vectors)} that were sent"
                    )
        return {"collection": np.array(name), "n_vectors": np.array(len(vectors) if vectors.size else 0)}

    def _make_collection(self, client: "QdrantClient", name: str, n_dimensions: int) -> None:
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        try:
            client.create_collection(
                name,
                vectors_config=models.VectorParams(size=n_dimensions, distance=models.Distance.DOT, on_disk=True),
                # Without links there is no graph, and the server has nothing to build.
                hnsw_config=models.HnswConfigDiff(
                    m=0 if self.exact else self.n_links, ef_construct=self.ef_construction
                ),
            )
        except UnexpectedResponse as error:
            if error.status_code != HTTPStatus.CONFLICT:  # a sweep with another store is creating it
                raise

    def _upload(self, client: "QdrantClient", name: str, vectors: NDArray[np.float32]) -> None:
        first = 0
        for block in row_blocks(vectors):
            ids = range(first, first + len(block))
            client.upload_collection(name, block, ids=ids, batch_size=self.batch_size, wait=True)
            first += len(block)

    def _wait_for_graph(self, client: "QdrantClient", name: str) -> None:
        """Wait until the graph is complete. Until then, vectors outside it are searched exactly, and slowly."""
        from qdrant_client import models

        while (status := client.get_collection(name).status) is models.CollectionStatus.YELLOW:
            time.sleep(_POLL_INTERVAL_S)
        if status is models.CollectionStatus.RED:
            raise ComponentError(
                f"{self._label(name)}: the server reports a failure (status red). See the server's log."
            )

    def lost(self, index: Arrays) -> list[str]:
        """Return a message if the collection does not exist or has lost vectors, else []. Raises ComponentError if the
        server does not answer.
        """
        name, n_expected = str(index["collection"]), int(index["n_vectors"])
        if not n_expected:
            return []
        with self._connection() as client:
            n = _n_vectors(client, name)
        if n == n_expected:
            return []
        return [f"{self._label(name)} {'does not exist' if n is None else f'has {n} vectors, expected {n_expected}'}"]

    def search(self, index: Arrays, vectors: NDArray[np.float32], queries: NDArray[np.float32], depth: int) -> Hits:
        """Return the `depth` nearest by inner product.

        Raises DamagedEntryError if the collection has changed since it was built, and ComponentError if the server does
        not answer.
        """
        depth = min(depth, len(vectors))
        if not vectors.size or not len(queries):
            return empty_hits(len(queries), depth)
        if lost := self.lost(index):
            raise DamagedEntryError(f"{'; '.join(lost)}; a sweep with this index builds it again")
        candidates = np.full((len(queries), min(depth + BEYOND, len(vectors))), -1, dtype=np.int32)
        with self._connection() as client:
            for first in range(0, len(queries), _QUERIES_AT_ONCE):
                some = queries[first : first + _QUERIES_AT_ONCE]
                for row, positions in enumerate(
                    self._nearest(client, str(index["collection"]), some, candidates.shape[1])
                ):
                    candidates[first + row, : len(positions)] = positions
        return rescore_hits(candidates, vectors, queries, depth)

    def _nearest(self, client: "QdrantClient", name: str, queries: NDArray[np.float32], n: int) -> Iterator[list[int]]:
        from qdrant_client import models

        # The trial mode compares every vector with every query, and warns about it.
        how = None if self.base_url == IN_PROCESS else models.SearchParams(exact=self.exact, hnsw_ef=self.ef_search)
        requests = [models.QueryRequest(query=query.tolist(), limit=n, params=how) for query in queries]
        for reply in client.query_batch_points(name, requests):
            yield [int(point.id) for point in reply.points]

    def _connection(self) -> "AbstractContextManager[QdrantClient]":
        return connect(self.base_url, self.api_key_env, self.timeout_s, "vector_index")

    def _label(self, name: str) -> str:
        return f"the collection {name} at {self.base_url}"


def _n_vectors(client: "QdrantClient", name: str) -> int | None:
    """Return the number of vectors in a collection, None if it does not exist."""
    return client.count(name, exact=True).count if client.collection_exists(name) else None
