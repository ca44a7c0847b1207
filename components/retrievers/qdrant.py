"""Search in a collection of Qdrant that exists already, by the user's own request."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.openai_server.access import mistakes_of_key, mistakes_of_proxy, mistakes_of_url
from components.pretrained.model_folder import missing_packages
from components.qdrant.connection import connected, opened_folder
from components.records import IndexedText
from components.retrievers.existing_index import (
    ExistingIndex,
    filled,
    missing_text,
    request_mistakes,
    value_at,
    with_dimensions,
)
from components.secrets.mask import shortened

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_EXAMPLE = "http://localhost:6333"
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class QdrantCollection(ExistingIndex):
    """A search by `request`, the body of Qdrant's query of points as JSON, in `collection`.

    The placeholders are whole strings: {"query": "{vector}", "limit": "{top_k}"}. `text_field` and `document_field`
    are paths in the payload, such as "metadata.source". The id of a hit is the id of its point. `base_url` is an
    address, or a folder of the client's local mode.
    """

    collection: str
    request: str
    base_url: str = _EXAMPLE
    api_key_env: str = runtime_only("", "a key gives access, and is secret")
    timeout_s: float = runtime_only(60.0, "a search that takes too long fails")

    option: ClassVar[str] = "retriever=qdrant"

    @property
    def template(self) -> str:
        """The request."""
        return self.request

    @property
    def _is_folder(self) -> bool:
        return bool(self.base_url) and "://" not in self.base_url

    def check(self) -> list[str]:
        """Return errors of the fields, of a missing folder or key, and of a missing package."""
        found = self.mistakes("request")
        found += request_mistakes(self.request) if self.request.strip() else []
        if not self.collection.strip():
            found.append("collection: is empty, expected the name of the collection")
        if not self.timeout_s > 0:
            found.append(f"timeout_s: got {self.timeout_s}, expected more than 0")
        if not self.base_url:
            found.append(f"base_url: is empty, expected the server's address, such as {_EXAMPLE}")
        elif not self._is_folder:
            found += mistakes_of_url(self.base_url, _EXAMPLE) or mistakes_of_proxy(self.base_url)
        elif not Path(self.base_url).is_dir():
            found.append(f"base_url: got {self.base_url!r}, expected an address such as {_EXAMPLE}, or a folder")
        return [
            *found,
            *mistakes_of_key(self.api_key_env),
            *map(str, missing_packages(["qdrant_client"], self.option, "qdrant")),
        ]

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[list[IndexedText]]:
        """Yield the points for each query. Raises ComponentError for a request that the server rejects."""
        from pydantic import ValidationError
        from qdrant_client import models

        template = json.loads(self.request)
        with self._connected() as client:
            for row, query in enumerate(queries):
                vector = None if vectors is None else vectors[row].tolist()
                body = {"with_payload": True, **filled(template, query, vector, depth)}
                try:
                    request = models.QueryRequest(**body)
                    (reply,) = client.query_batch_points(self.collection, [request])
                except (ValidationError, ValueError) as error:  # the local mode raises ValueError
                    message = shortened(" ".join(str(error).split()), _SHOWN_CHARACTERS)
                    raise ComponentError(
                        f"retriever.request: Qdrant refuses it: {with_dimensions(message, vectors)}"
                    ) from None
                yield [self._hit(str(point.id), point.payload or {}) for point in reply.points[:depth]]

    def _connected(self) -> "AbstractContextManager[QdrantClient]":
        if self._is_folder:
            return opened_folder(self.base_url)
        return connected(self.base_url, self.api_key_env, self.timeout_s, "retriever")

    def _hit(self, an_id: str, payload: dict[str, object]) -> IndexedText:
        if (text := value_at(payload, self.text_field)) is None:
            raise missing_text(self.text_field, payload)
        return self.hit(text, an_id, value_at(payload, self.document_field))
