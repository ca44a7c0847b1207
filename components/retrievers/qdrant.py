"""Search in an existing Qdrant collection, by a custom request."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.openai_server.access import proxy_problems, url_problems
from components.pretrained.model_folder import missing_package_errors
from components.qdrant.server_client import connect, opened_folder
from components.records import IndexedText
from components.retrievers.existing_index import (
    ExistingCollection,
    fill_template,
    with_dimensions,
)
from components.secrets.mask import shorten_masked

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_EXAMPLE = "http://localhost:6333"
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class QdrantCollection(ExistingCollection):
    """A search by `request`, the body of Qdrant's query of points as JSON, in `collection`.

    The placeholders are whole strings: {"query": "{vector}", "limit": "{top_k}"}. `text_field` and `document_field`
    are paths in the payload, such as "metadata.source". The id of a hit is the id of its point. `base_url` is an
    address, or a folder of the client's local mode.
    """

    base_url: str = _EXAMPLE

    option: ClassVar[str] = "retriever=qdrant"

    def check(self) -> list[str]:
        """Return one message per error in the fields, and messages for a missing folder, key or package."""
        problems = self.collection_problems(_EXAMPLE)
        if self.is_local and not Path(self.base_url).is_dir():
            problems.append(f"base_url: got {self.base_url!r}, expected an address such as {_EXAMPLE}, or a folder")
        if self.base_url and not self.is_local and not url_problems(self.base_url, _EXAMPLE):
            problems += proxy_problems(self.base_url)
        return [*problems, *map(str, missing_package_errors(["qdrant_client"], self.option, "qdrant"))]

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[list[IndexedText]]:
        """Yield the points for each query. Raises ComponentError for a request that the server rejects."""
        from pydantic import ValidationError
        from qdrant_client import models

        template = json.loads(self.request)
        with self._connection() as client:
            for row, query in enumerate(queries):
                vector = None if vectors is None else vectors[row].tolist()
                body = {"with_payload": True, **fill_template(template, query, vector, depth)}
                try:
                    request = models.QueryRequest(**body)
                    (reply,) = client.query_batch_points(self.collection, [request])
                except (ValidationError, ValueError) as error:  # the local mode raises ValueError
                    message = shorten_masked(" ".join(str(error).split()), _SHOWN_CHARACTERS)
                    raise ComponentError(
                        f"retriever.request: Qdrant refuses it: {with_dimensions(message, vectors)}"
                    ) from None
                yield [self.parse_hit(point.payload or {}, str(point.id)) for point in reply.points[:depth]]

    def _connection(self) -> "AbstractContextManager[QdrantClient]":
        if self.is_local:
            return opened_folder(self.base_url)
        return connect(self.base_url, self.api_key_env, self.timeout_s, "retriever")
