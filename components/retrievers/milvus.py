"""Search in an existing Milvus collection, by a custom request."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.loading import loading
from components.openai_server.access import read_api_key
from components.pretrained.model_folder import missing_package_errors
from components.records import IndexedText
from components.retrievers.existing_index import (
    ExistingCollection,
    fill_template,
    with_dimensions,
)
from components.secrets.mask import HIDDEN, shorten_masked

if TYPE_CHECKING:
    from pymilvus import MilvusClient

_EXAMPLE = "http://localhost:19530"
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class MilvusCollection(ExistingCollection):
    """A search by `request`, the arguments of `search` of Milvus' client as JSON, in `collection`.

    The placeholders are whole strings: {"data": ["{vector}"], "limit": "{top_k}"}. `text_field` and `document_field`
    are fields of the collection, or paths in a field of JSON. The id of a hit is its primary key. `base_url` is an
    address, or the path of a database of Milvus Lite.
    """

    base_url: str = _EXAMPLE

    option: ClassVar[str] = "retriever=milvus"

    def check(self) -> list[str]:
        """Return one message per error in the fields, and messages for a missing database, key or package."""
        problems = self.collection_problems(_EXAMPLE)
        if self.is_local and not (self.base_url.endswith(".db") and Path(self.base_url).exists()):
            problems.append(
                f"base_url: got {self.base_url!r}, expected an address such as {_EXAMPLE}, or an existing database "
                "of Milvus Lite, whose name ends in .db"
            )
        packages = ["pymilvus", *(["milvus_lite"] if self.is_local else [])]
        return [*problems, *map(str, missing_package_errors(packages, self.option, "milvus"))]

    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[list[IndexedText]]:
        """Yield the hits of each query. Raises ComponentError for a request that the server rejects."""
        template = json.loads(self.request)
        fields = [field.partition(".")[0] for field in (self.text_field, self.document_field) if field]
        with self._connection() as client:
            if self.is_local:  # a database that has just been opened has no collection in memory
                with self._refusals(None):
                    client.load_collection(self.collection)
            for row, query in enumerate(queries):
                vector = None if vectors is None else vectors[row].tolist()
                body = {
                    "output_fields": fields,
                    "timeout": self.timeout_s,
                    **fill_template(template, query, vector, depth),
                }
                with self._refusals(vectors):
                    reply = client.search(**{**body, "collection_name": self.collection})
                yield [self.parse_hit(hit["entity"], str(hit.id)) for hit in (reply[0] if reply else [])[:depth]]

    @contextmanager
    def _connection(self) -> "Iterator[MilvusClient]":
        with loading():
            from pymilvus import MilvusClient
            from pymilvus.exceptions import MilvusException

        for name in ("pymilvus", "milvus_lite"):  # both log each failed call with its traceback
            logging.getLogger(name).setLevel(logging.CRITICAL)
        login = {"token": read_api_key(self.api_key_env)} if self.api_key_env else {}
        try:
            client = MilvusClient(self.base_url, timeout=self.timeout_s, **login)
        except MilvusException as error:
            remedy = (
                "Only one process at a time can open a database of Milvus Lite. Set run.workers=1"
                if self.is_local
                else "Start the server, or set its address, and retriever.api_key_env if it needs a login."
            )
            raise ComponentError(
                f"retriever.base_url: Milvus at {self.base_url} cannot be opened ({self._message(error)}). {remedy}"
            ) from None
        try:
            yield client
        finally:
            client.close()
            if self.is_local:
                from milvus_lite.server_manager import server_manager_instance

                server_manager_instance.release_server(self.base_url)  # or the database stays open in this process

    @contextmanager
    def _refusals(self, vectors: NDArray[np.float32] | None) -> Iterator[None]:
        """Turn an error of the client inside into one ComponentError with advice."""
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, TypeError) as error:  # TypeError: an argument that `search` does not take
            message = with_dimensions(self._message(error), vectors)
            raise ComponentError(f"retriever.request: Milvus refuses it: {message}") from None

    def _message(self, error: Exception) -> str:
        text = " ".join(str(getattr(error, "message", error)).split())
        # Milvus Lite gives no reason for vectors of another dimension.
        text = text or "it gives no reason. Do your vectors (retriever.embedder) have the dimension of the collection?"
        key = read_api_key(self.api_key_env) if self.api_key_env else ""
        return shorten_masked(text.replace(key, HIDDEN) if key else text, _SHOWN_CHARACTERS)
