"""The documents of a user, prepared for making evaluation data: cleaned and without duplicates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from components.datasets.assembly import require_unique
from components.datasets.cleaning import Cleaning
from components.datasets.document_files import is_row, missing_extras
from components.datasets.document_source import DocumentSource
from components.datasets.parsers.built_in import BuiltInReaders
from components.errors import DataError
from components.fields import added_later, runtime_only
from components.limits import too_small
from components.protocols.parsing import Parser
from components.records import Documents
from components.text.similar_documents import repeated_texts

_N_EXAMPLES = 3
LEFT_OUT = ("empty", "too_short", "too_long", "copy", "near_duplicate")
"""The reasons for leaving out a document, in the order of the checks."""


@dataclass(frozen=True)
class BuiltCorpus:
    """A folder or a file of documents (see `read_documents` and `ReadingOptions`), cleaned and without duplicates.

    The cleaned text is the text of the document from then on, and positions of gold count its characters. The corpus
    leaves out, in this order,

    - documents with fewer than `min_characters` or more than `max_characters`;
    - with `without_copies`, documents whose text equals another, ignoring whitespace;
    - with `without_near_duplicates`, documents whose runs of 5 characters have a Jaccard similarity of at least
      `similarity` with another document. Rows of tables are exempt: they repeat words around different facts.

    The first by id is kept among equal or similar documents.
    """

    version: ClassVar[int] = DocumentSource.version + 1

    path: str = runtime_only("", "the fingerprint covers the content of the files; their location does not matter")
    keep_structure: bool = True
    one_per_line: bool = False
    tables: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()
    cleaning: Cleaning = Cleaning()
    min_characters: int = 20
    max_characters: int = 1_000_000
    without_copies: bool = True
    without_near_duplicates: bool = True
    similarity: float = 0.8
    parser: Parser = added_later(BuiltInReaders())

    @property
    def source(self) -> DocumentSource:
        """Return the documents as they are in the files."""
        return DocumentSource(
            self.path, self.keep_structure, self.one_per_line, self.tables, self.text_columns, self.parser
        )

    def check(self) -> list[str]:
        """Return one message per error in the fields, and per missing library for the documents. Reads no file."""
        problems = too_small(self, min_characters=0, max_characters=max(self.min_characters, 1))
        if not 0.5 <= self.similarity <= 1:
            problems.append(f"similarity: got {self.similarity}, expected a similarity in [0.5, 1]")
        if self.cleaning.running_heads and not self.keep_structure:
            problems.append("cleaning.running_heads: needs keep_structure=true, which marks where pages end")
        if not self.path:
            return ["path: is empty, expected a folder or a file of documents", *problems]
        try:
            return [*problems, *missing_extras(Path(self.path), self.source.options)]
        except DataError as error:
            return [*problems, f"path: {error}"]

    def fingerprint(self) -> str:
        """Return the fingerprint of the files; see `DocumentSource`."""
        return self.source.fingerprint()

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """Return the remaining documents, sorted by id, and counts.

        The counts say how many documents were read, changed by each step of the cleaning, and left out for each reason,
        with examples. Raises DataError for errors in the files, and if no document remains.
        """
        read, notes = self.source.read()
        require_unique(read.ids, self.path, "document")
        documents = read.at(sorted(range(len(read)), key=read.ids.__getitem__))
        cleaned = self.cleaning.clean(documents.ids, documents.texts)
        left_out = self._find_left_out(documents.ids, cleaned.texts)
        rows = [row for row in range(len(documents)) if row not in left_out]
        counts: dict[str, int | str] = {"n_documents_read": len(documents), **notes}
        for step, changed in cleaned.changed.items():
            counts[f"n_cleaned_{step}"] = len(changed)
            counts[f"examples_cleaned_{step}"] = _first_examples([documents.ids[row] for row in changed])
        for reason in LEFT_OUT:
            examples = [_example(documents.ids, row, of) for row, (why, of) in left_out.items() if why == reason]
            counts[f"n_left_out_{reason}"] = len(examples)
            counts[f"examples_left_out_{reason}"] = _first_examples(examples)
        if not rows:
            raise DataError(_no_documents_left(self, counts))
        counts["n_documents_kept"] = len(rows)
        remaining = replace(
            documents.at(rows),
            titles=[self.cleaning.clean_title(documents.titles[row]) for row in rows],
            texts=[cleaned.texts[row] for row in rows],
        )
        return remaining, counts

    def _find_left_out(self, ids: Sequence[str], texts: Sequence[str]) -> dict[int, tuple[str, int | None]]:
        """Return the rows that are left out: row -> (reason, the row that it repeats or None)."""
        left_out: dict[int, tuple[str, int | None]] = {}
        first: dict[str, int] = {}
        for row, text in enumerate(texts):
            plain = "".join(text.split())
            if not plain:
                left_out[row] = "empty", None
            elif len(text) < self.min_characters:
                left_out[row] = "too_short", None
            elif len(text) > self.max_characters:
                left_out[row] = "too_long", None
            elif self.without_copies and first.setdefault(plain, row) != row:
                left_out[row] = "copy", first[plain]
        if self.without_near_duplicates:
            rows = [row for row, an_id in enumerate(ids) if row not in left_out and not is_row(an_id)]
            repeated = repeated_texts([texts[row] for row in rows], self.similarity)
            left_out |= {rows[position]: ("near_duplicate", rows[of]) for position, of in repeated.items()}
        return left_out


def _example(ids: Sequence[str], row: int, of: int | None) -> str:
    return ids[row] if of is None else f"{ids[row]} (as {ids[of]})"


def _first_examples(examples: list[str]) -> str:
    more = len(examples) - _N_EXAMPLES
    return ", ".join(examples[:_N_EXAMPLES]) + (f" and {more:,} more" if more > 0 else "")


def _no_documents_left(corpus: BuiltCorpus, counts: Mapping[str, int | str]) -> str:
    left_out = [f"{counts[f'n_left_out_{reason}']} {reason.replace('_', ' ')}" for reason in LEFT_OUT]
    other_files = counts.get("files_of_other_kinds") or "none"
    return (
        f"{corpus.path}: none of the {counts['n_documents_read']} documents remains ({', '.join(left_out)}; files "
        f"of other kinds: {other_files}), expected documents of {corpus.min_characters} to "
        f"{corpus.max_characters:,} characters. Add some, or change corpus.min_characters."
    )
