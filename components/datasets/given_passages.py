"""Passages that a user gives with a question, as documents of the corpus."""

import hashlib
from collections.abc import Mapping
from functools import cached_property

from components.datasets.json_fields import Record, as_list, as_record, optional_text, required_id, required_text
from components.errors import DataError
from components.limits import expected_one_of
from components.records import Documents

_FIELDS = ("text", "title", "document", "relevant")
_ID_DIGITS = 12


class GivenPassages:
    """Reader of the field `passages` of all questions. Equal texts become one document."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Read passages against the corpus's `texts` by id: a passage with the text of a document is that document."""
        self._texts = texts
        self._added: dict[str, tuple[str, str]] = {}

    @cached_property
    def _ids_by_text(self) -> dict[str, str]:
        """The ids of documents by their text. It is built when the first passage is given as a text."""
        return {text.strip(): document_id for document_id, text in self._texts.items()}

    @property
    def added(self) -> Documents:
        """Return the passages read so far that are not documents of the corpus."""
        titles, texts = [title for title, _ in self._added.values()], [text for _, text in self._added.values()]
        return Documents(list(self._added), titles, texts)

    def read(self, record: Record, location: str) -> tuple[tuple[str, ...], list[list[str]]]:
        """Return the document ids of the passages, in order, and the relevant ids as sets of alternatives.

        A passage is a text, or {"text"} with an optional "title", or {"document"}, the id of a document. The last two
        may have "relevant": true, or the number (from 1) of a set of alternatives that the passage belongs to. Raises
        DataError for passages of another form, unknown fields, and unknown documents.
        """
        location = f"{location}, field 'passages'"
        passages: dict[str, set[int]] = {}
        for item in as_list(record.get("passages") or [], location):
            passage = {"text": item} if isinstance(item, str) else as_record(item, location)
            if unknown := [name for name in passage if name not in _FIELDS]:
                raise DataError(f"{location}: unknown field '{unknown[0]}'{expected_one_of(unknown[0], _FIELDS)}")
            document_id = self._document(passage, location)
            passages.setdefault(document_id, set()).update(_set_numbers(passage, location))
        sets = sorted(set().union(*passages.values()))
        return tuple(passages), [[an_id for an_id, numbers in passages.items() if number in numbers] for number in sets]

    def _document(self, passage: Record, location: str) -> str:
        """Return the id of a passage's document, and add the document if it is new."""
        if "document" in passage:
            document_id = required_id(passage, location, "document")
            if document_id not in self._texts:
                raise DataError(f"{location}: the corpus has no document {document_id!r}. Add the passage's text.")
            return document_id
        text = required_text(passage, "text", location).strip()
        if not text:
            raise DataError(f"{location}: a passage is blank. Give its text, or leave it out.")
        if text not in self._ids_by_text:
            document_id = f"passage-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:_ID_DIGITS]}"
            self._ids_by_text[text] = document_id
            self._added[document_id] = (optional_text(passage, "title", location), text)
        return self._ids_by_text[text]


def add_passages(documents: Documents, passages: Documents) -> Documents:
    """Return the documents, followed by the passages, which have no metadata."""
    if not len(passages):
        return documents
    metadata = [*documents.metadata, *({} for _ in passages.ids)] if documents.metadata else ()
    return Documents(
        [*documents.ids, *passages.ids],
        [*documents.titles, *passages.titles],
        [*documents.texts, *passages.texts],
        metadata,
    )


def _set_numbers(passage: Record, location: str) -> list[int]:
    """Return the number of a relevant passage's set of alternatives, 1 for `true`; [] for an irrelevant passage."""
    relevant = passage.get("relevant", False)
    if not isinstance(relevant, bool) and not (isinstance(relevant, int) and relevant >= 1):
        raise DataError(
            f"{location}, field 'relevant': got {relevant!r}, expected true or false, or the number (from 1) of a "
            "set of alternatives"
        )
    return [int(relevant)] if relevant else []
