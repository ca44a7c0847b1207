"""The documents of a user, made ready to make evaluation data of: cleaned, without copies, everything counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from components.datasets.assembly import require_unique
from components.datasets.cleaning import Cleaning
from components.datasets.document_files import is_row, missing_extras
from components.datasets.document_source import DocumentSource
from components.errors import DataError
from components.fields import runtime_only
from components.limits import too_small
from components.records import Documents
from components.text.near_duplicates import repeated_texts

_N_EXAMPLES = 3
LEFT_OUT = ("empty", "too_short", "too_long", "copy", "near_duplicate")
"""Why a document is left out, in the order in which it is looked at."""


@dataclass(frozen=True)
class BuiltCorpus:
    """A folder or a file of documents (see `read_documents` and `ReadingOptions`), cleaned and without duplicates.

    The text that remains is the text of the document from then on: gold is counted in its characters. Left out are
    documents with fewer than `min_characters` or more than `max_characters`; then, `without_copies`, those whose text
    repeats another but for white space; then, `without_near_duplicates`, those whose runs of 5 characters have a
    Jaccard similarity of `similarity` or more with those of another; rows of tables have the same words around other
    facts, and are none of these. Of equal ones the first by id is kept.
    """

    version: ClassVar[int] = 1

    path: str = runtime_only("", "the content of the files counts, through the fingerprint, not their place")
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

    @property
    def source(self) -> DocumentSource:
        """The documents as they are in the files."""
        return DocumentSource(self.path, self.keep_structure, self.one_per_line, self.tables, self.text_columns)

    def check(self) -> list[str]:
        """What is wrong with the fields, and missing libraries that the documents need; reads no file."""
        mistakes = too_small(self, min_characters=0, max_characters=max(self.min_characters, 1))
        if not 0.5 <= self.similarity <= 1:
            mistakes.append(f"similarity: got {self.similarity}, expected a similarity in [0.5, 1]")
        if self.cleaning.running_heads and not self.keep_structure:
            mistakes.append("cleaning.running_heads: needs keep_structure=true, which tells where pages end")
        if not self.path:
            return ["path: is empty; expected a folder or a file of documents", *mistakes]
        try:
            return [*mistakes, *missing_extras(Path(self.path), self.source.options)]
        except DataError as error:
            return [*mistakes, f"path: {error}"]

    def fingerprint(self) -> str:
        """That of the files."""
        return self.source.fingerprint()

    def read(self) -> tuple[Documents, Mapping[str, int | str]]:
        """The documents that remain, sorted by id, and counts: what was read, what each step of the cleaning changed,
        and how many documents were left out for each reason, with examples. Raises DataError, also if none remains.
        """
        read, notes = self.source.read()
        require_unique(read.ids, self.path, "document")
        documents = read.at(sorted(range(len(read)), key=read.ids.__getitem__))
        cleaned = self.cleaning.clean(documents.ids, documents.texts)
        left_out = self._left_out(documents.ids, cleaned.texts)
        rows = [row for row in range(len(documents)) if row not in left_out]
        counts: dict[str, int | str] = {"n_documents_read": len(documents), **notes}
        for step, changed in cleaned.changed.items():
            counts[f"n_cleaned_{step}"] = len(changed)
            counts[f"examples_cleaned_{step}"] = _listed([documents.ids[row] for row in changed])
        for reason in LEFT_OUT:
            examples = [_example(documents.ids, row, of) for row, (why, of) in left_out.items() if why == reason]
            counts[f"n_left_out_{reason}"] = len(examples)
            counts[f"examples_left_out_{reason}"] = _listed(examples)
        if not rows:
            raise DataError(_nothing_left(self, counts))
        counts["n_documents_kept"] = len(rows)
        kept = replace(
            documents.at(rows),
            titles=[self.cleaning.clean_title(documents.titles[row]) for row in rows],
            texts=[cleaned.texts[row] for row in rows],
        )
        return kept, counts

    def _left_out(self, ids: Sequence[str], texts: Sequence[str]) -> dict[int, tuple[str, int | None]]:
        """By row why, and the row that it repeats."""
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
            left_out |= {rows[place]: ("near_duplicate", rows[of]) for place, of in repeated.items()}
        return left_out


def _example(ids: Sequence[str], row: int, of: int | None) -> str:
    return ids[row] if of is None else f"{ids[row]} (as {ids[of]})"


def _listed(examples: list[str]) -> str:
    more = len(examples) - _N_EXAMPLES
    return ", ".join(examples[:_N_EXAMPLES]) + (f" and {more:,} more" if more > 0 else "")


def _nothing_left(corpus: BuiltCorpus, counts: Mapping[str, int | str]) -> str:
    found = [f"{counts[f'n_left_out_{reason}']} {reason.replace('_', ' ')}" for reason in LEFT_OUT]
    other_files = counts.get("files_of_other_kinds") or "none"
    return (
        f"{corpus.path}: no document is left of {counts['n_documents_read']} that were read ({', '.join(found)}; files "
        f"of other kinds: {other_files}). Expected: documents of {corpus.min_characters} to {corpus.max_characters:,} "
        "characters. Add some, or change corpus.min_characters."
    )
