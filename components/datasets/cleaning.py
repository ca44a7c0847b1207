"""Steps that remove traces of files (control characters, broken lines, page headers) from the texts of a corpus."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar, NamedTuple

from components.datasets.document_files import is_row
from components.text.cleaning import join_broken_words, strip_invisible_characters, tidy_white_space
from components.text.shared_lines import strip_running_heads, strip_shared_edges


class CleanedTexts(NamedTuple):
    """Cleaned texts, and for each step that ran the positions of the texts that it changed."""

    texts: list[str]
    changed: dict[str, list[int]]


@dataclass(frozen=True)
class Cleaning:
    """The steps of cleaning, in their order. Each depends on the corpus only.

    - `unseen_characters`: remove control characters, marks of writing direction and invisible tags;
    - `unicode_nfc`: convert characters to Unicode's normal form NFC;
    - `running_heads`: remove lines that many pages of a PDF have at their top or bottom, and page numbers;
    - `broken_words`: join words that were hyphenated at the end of a line;
    - `shared_edges`: remove lines with which many documents of one folder begin or end, except in rows of tables;
    - `white_space`: replace each run of spaces by one space, and each run of empty lines by one empty line.
    """

    unseen_characters: bool = True
    unicode_nfc: bool = True
    running_heads: bool = True
    broken_words: bool = True
    shared_edges: bool = True
    white_space: bool = True

    version: ClassVar[int] = 1

    def clean(self, ids: Sequence[str], texts: Sequence[str]) -> CleanedTexts:
        """Clean the texts of the documents with these ids."""
        steps: dict[str, Callable[[list[str]], list[str]]] = {
            "unseen_characters": _map_texts(strip_invisible_characters),
            "unicode_nfc": _map_texts(_nfc),
            "running_heads": _map_texts(strip_running_heads),
            "broken_words": _map_texts(join_broken_words),
            "shared_edges": lambda before: _strip_shared_edges(ids, before),
            "white_space": _map_texts(tidy_white_space),
        }
        cleaned = CleanedTexts(list(texts), {})
        for name, step in steps.items():
            if getattr(self, name):
                after = step(cleaned.texts)
                changed = [position for position, text in enumerate(after) if text != cleaned.texts[position]]
                cleaned = CleanedTexts(after, {**cleaned.changed, name: changed})
        return cleaned

    def clean_title(self, title: str) -> str:
        """Return a title cleaned by the steps for characters. With `white_space`, it is on one line."""
        title = strip_invisible_characters(title) if self.unseen_characters else title
        title = _nfc(title) if self.unicode_nfc else title
        return " ".join(title.split()) if self.white_space else title


def _map_texts(step: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    return lambda texts: list(map(step, texts))


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _strip_shared_edges(ids: Sequence[str], texts: list[str]) -> list[str]:
    folders: dict[PurePosixPath, list[int]] = defaultdict(list)
    for position, an_id in enumerate(ids):
        if not is_row(an_id):
            folders[PurePosixPath(an_id).parent].append(position)
    cleaned = list(texts)
    for positions in folders.values():
        for position, text in zip(
            positions, strip_shared_edges([texts[position] for position in positions]), strict=True
        ):
            cleaned[position] = text
    return cleaned
