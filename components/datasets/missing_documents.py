"""Messages for gold in documents that the corpus lacks."""

from collections.abc import Collection
from functools import cached_property
from pathlib import PurePosixPath
from unicodedata import normalize

from components.datasets.file_content import OFFICE_SUFFIXES


class MissingDocuments:
    """Says what a user may have meant by the id of a document that the corpus lacks."""

    def __init__(self, ids: Collection[str], not_read: str = "") -> None:
        """`ids` are the ids of the corpus. `not_read` describes files that were not read; "" for none."""
        self._ids = ids
        self._not_read = not_read

    def describe(self, document_id: str) -> str:
        """Return the id, the likely cause and a remedy, to follow "no document "."""
        alike = self._by_stem.get(_stem(document_id))
        hint = f"did you mean {alike}?" if alike else f"its ids are like {next(iter(self._ids), '')!r}."
        if normalize("NFC", document_id) in self._composed:
            hint = "the corpus has an id that looks the same, in another Unicode normalization form (NFC or NFD)."
        left_out = f" Files that were not read: {self._not_read}." if self._not_read else ""
        suffix = PurePosixPath(document_id.lower()).suffix
        remedy = "Correct the id, or add the document."
        if suffix in OFFICE_SUFFIXES and suffix in self._not_read:
            hint, remedy = f"the chosen parser does not read {suffix}.", "Add parser=office, which reads them."
        return f"{document_id!r} with text; {hint}{left_out} {remedy}"

    @cached_property
    def _by_stem(self) -> dict[str, str]:
        return {_stem(an_id): an_id for an_id in reversed(list(self._ids))}

    @cached_property
    def _composed(self) -> set[str]:
        return {normalize("NFC", an_id) for an_id in self._ids}


def _stem(document_id: str) -> str:
    """Return an id in lower case, without folders and extension."""
    return PurePosixPath(document_id.lower()).stem
