"""Base of retrievers over an existing index, such as a user's table or collection."""

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.fields import runtime_only
from components.json_value import Json, name_kind
from components.openai_server.access import key_problems, url_problems
from components.protocols import Embedder, Fusion
from components.records import IndexedText
from components.retrievers.arms import depth_problems

VECTOR, QUERY, TOP_K = "{vector}", "{query}", "{top_k}"

Self = TypeVar("Self", bound="ExistingIndex")


@dataclass(frozen=True, kw_only=True)
class ExistingIndex:
    """A read-only search by a custom query, which a backend declares as a template.

    The placeholders {vector}, {query} and {top_k} stand for the vector of the query by `embedder`, its text, and
    `depth`. They are bound as values, never spliced as text. `text_field` names the field of a hit with its text,
    `id_field` its id, and `document_field`, unless it is "", the id or the title of its document.

    `revision` identifies the index's content, such as a date or a build number. It is required, and part of the keys of
    all hits: nothing else shows that an index behind its name changed. `fusion` is needed only for an expander with
    several queries per sample.
    """

    revision: str | int | float
    embedder: Embedder
    text_field: str
    id_field: str = ""
    document_field: str = ""
    depth: int = 100
    fusion: Fusion | None = None

    version: ClassVar[int] = 1
    is_free: ClassVar[bool] = True
    option: ClassVar[str]
    """The name of the retriever in a command, for messages."""

    @property
    @abstractmethod
    def template(self) -> str:
        """The user's query."""

    @abstractmethod
    def find(
        self, queries: Sequence[str], vectors: NDArray[np.float32] | None, depth: int
    ) -> Iterator[list[IndexedText]]:
        """Yield the hits of each query: see `ExistingIndexArm`."""

    @property
    def arms(self: Self) -> tuple[Self]:
        """The retriever itself, its only arm."""
        return (self,)

    @property
    def reads_vectors(self) -> bool:
        """True if the query has {vector}."""
        return VECTOR in self.template

    def problems(self, field: str) -> list[str]:
        """Return one message per error in the fields of this class. `field` is the name of the template."""
        problems = depth_problems(self.depth)
        if not str(self.revision).strip():
            problems.append(
                "revision: is empty, expected a version of the index, e.g. a date or a build number: hits are cached, "
                "and nothing else shows that the index changed"
            )
        if not self.text_field.strip():
            problems.append("text_field: is empty, expected the name of the field with the text of a hit")
        if not self.template.strip():
            return [*problems, f"{field}: is empty, expected your query with {VECTOR} or {QUERY}, and {TOP_K}"]
        if VECTOR not in self.template and QUERY not in self.template:
            problems.append(f"{field}: has neither {VECTOR} nor {QUERY}; every question would get the same hits")
        if TOP_K not in self.template:
            problems.append(f"{field}: has no {TOP_K}, the number of hits to return (retriever.depth)")
        return problems

    def hit(self, text: object, an_id: object, document: object) -> IndexedText:
        """Return a hit of these values of fields. Raises ComponentError for a text that is not a string."""
        if text is not None and not isinstance(text, str):
            raise ComponentError(
                f"retriever.text_field: got a {name_kind(text)} in {self.text_field!r}, expected a string"
            )
        return IndexedText(text or "", *("" if value is None else str(value) for value in (an_id, document)))

    def parse_hit(self, record: object, an_id: object) -> IndexedText:
        """Return the hit of a record with the fields of text and document.

        Raises ComponentError if the record lacks the text.
        """
        if (text := get_value(record, self.text_field)) is None:
            raise missing_text(self.text_field, record)
        return self.hit(text, an_id, get_value(record, self.document_field))


@dataclass(frozen=True, kw_only=True)
class ExistingCollection(ExistingIndex):
    """A search by `request`, JSON with placeholders, in `collection` of a server at `base_url`, or of a local path."""

    collection: str
    request: str
    base_url: str
    api_key_env: str = runtime_only("", "a key gives access, and is secret")
    timeout_s: float = runtime_only(60.0, "a search that takes too long fails")

    @property
    def template(self) -> str:
        """The JSON of a request, with placeholders such as {query} for `fill_template`."""
        return self.request

    @property
    def is_local(self) -> bool:
        """True if `base_url` is a path."""
        return bool(self.base_url) and "://" not in self.base_url

    def collection_problems(self, example: str) -> list[str]:
        """Return one message per error in the fields of this class. `example` is a valid address. No request is sent to
        `base_url`.
        """
        problems = self.problems("request")
        problems += request_problems(self.request) if self.request.strip() else []
        if not self.collection.strip():
            problems.append("collection: is empty, expected the name of the collection")
        if not self.timeout_s > 0:
            problems.append(f"timeout_s: got {self.timeout_s}, expected more than 0")
        if not self.base_url:
            problems.append(f"base_url: is empty, expected the server's address, such as {example}")
        elif not self.is_local:
            problems += url_problems(self.base_url, example)
        return [*problems, *key_problems(self.api_key_env)]


def request_problems(request: str) -> list[str]:
    """Return one message per error in a JSON template whose placeholders are whole strings: see `fill_template`."""
    try:
        value = json.loads(request)
    except (ValueError, RecursionError) as error:
        return [
            f"request: is not JSON ({error}), expected an object, with placeholders as strings: {{...: {VECTOR!r}}}"
        ]
    if not isinstance(value, dict):
        return [f"request: got a {name_kind(value)}, expected an object, the body of a search"]
    with_placeholders = [text for text in _strings(value) if any(sign in text for sign in (VECTOR, QUERY, TOP_K))]
    return [
        f"request: got {text!r}, expected a placeholder as a whole string: a value replaces it, not text"
        for text in with_placeholders
        if text not in (VECTOR, QUERY, TOP_K)
    ]


def fill_template(template: Json, query: str, vector: Sequence[float] | None, top_k: int) -> Json:
    """Return JSON with the values in place of strings that are a placeholder."""
    if isinstance(template, dict):
        return {name: fill_template(value, query, vector, top_k) for name, value in template.items()}
    if isinstance(template, list):
        return [fill_template(value, query, vector, top_k) for value in template]
    values: Mapping[object, Json] = {VECTOR: vector, QUERY: query, TOP_K: top_k}
    return values[template] if isinstance(template, str) and template in values else template


def get_value(record: object, path: str) -> object:
    """Return the value at a path of names such as "metadata.source"; a name that itself contains dots is tried first.

    None if the record has no such value, or `path` is "".
    """
    if not path or not isinstance(record, Mapping):
        return None
    if path in record:
        return record[path]
    first, dot, rest = path.partition(".")
    return get_value(record.get(first), rest) if dot else None


def missing_text(path: str, record: object) -> ComponentError:
    """Return the error for a hit without the field of its text."""
    names = ", ".join(sorted(map(str, record))) if isinstance(record, Mapping) else ""
    return ComponentError(f"retriever.text_field: a hit has no {path!r}; its fields: {names or 'none'}")


def with_dimensions(error: str, vectors: NDArray[np.float32] | None) -> str:
    """Return an error about dimensions with advice, other errors unchanged."""
    if vectors is None or "dimension" not in error.lower():
        return error
    return (
        f"{error}; the embedder's vectors have {vectors.shape[1]} dimensions. Choose the embedder that filled the "
        "index: embedder=..."
    )


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)
