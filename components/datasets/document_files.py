"""The documents of a user: a JSON Lines file, a folder of text, markup, HTML and PDF files, or one such file.

HTML is read by Beautiful Soup and PDF by pypdf, the libraries behind llama-index's file readers. That package itself
requires an older pandas than this project, so the two cannot be installed together.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from components.datasets.html_text import read_html
from components.datasets.json_fields import optional_facts, optional_text, read_records, required_id, required_text
from components.datasets.reading import read_bytes, read_lines
from components.errors import DataError, MissingExtraError
from components.records import Documents

_EXPECTED_FOLDER = "documents as .txt, .md, .rst, .html or .pdf files"
_EXPECTED_FILE = 'documents as JSON Lines, {"text"} with "id", "title" and "metadata" if there are any'
_ID_DIGITS = 12
_JSON_LINES = "documents.jsonl"
_NO_SUFFIX = "without extension"
_LINK_OUT = "leading out of the folder"


class Page(NamedTuple):
    """What a file holds; `title` is "" where it has none."""

    title: str
    text: str


def document_files(path: Path) -> dict[str, Path]:
    """The files to read, by the names that count: the file itself, or every readable file of a folder (hidden ones left
    out) by its path in it. Raises DataError if there are none.
    """
    if path.is_file():
        return {path.name if path.suffix.lower() in _READERS else _JSON_LINES: path}
    if not path.is_dir():
        raise DataError(f"{path}: no such file or folder. Wanted: {_EXPECTED_FILE}, or a folder of {_EXPECTED_FOLDER}.")
    found = {name: file for name, file in _visible_files(path).items() if not _unread_kind(file, path)}
    if not found:
        there = said(other_files(path)) or "no file at all"
        raise DataError(f"{path}: no file in it can be read; there is {there}. Wanted: {_EXPECTED_FOLDER}.")
    return found


def missing_extras(path: Path) -> list[str]:
    """One message for each kind of file under `path` whose library is not installed."""
    suffixes = {file.suffix.lower() for file in document_files(path).values()}
    wanted = {_PACKAGES[suffix] for suffix in suffixes & _PACKAGES.keys()}
    return [
        str(MissingExtraError(package, "readers", f"documents: {path}"))
        for package in sorted(wanted)
        if find_spec(package) is None
    ]


def read_documents(path: Path, *, keep_structure: bool = False) -> tuple[Documents, dict[str, int | str]]:
    """The documents, and counts for the notes. With `keep_structure` headings and tables of HTML are written as those
    of Markdown, and a form feed ends each page of PDF.

    In a folder, a document's id is its path in it. In JSON Lines it is the document's `id`; if there is none, it is
    derived from the text, so that it stays the same when documents are added, and repeated texts are left out and
    counted; `metadata` is an object of texts or numbers. Raises DataError for what cannot be read, and
    MissingExtraError.
    """
    files = document_files(path)
    if _JSON_LINES in files and path.is_file():
        return _read_jsonl(path)
    pages = {name: _READERS[file.suffix.lower()](file, keep_structure) for name, file in files.items()}
    documents = Documents(list(pages), [page.title for page in pages.values()], [page.text for page in pages.values()])
    others = other_files(path)
    return documents, {"n_files_of_other_kinds": others.total(), "files_of_other_kinds": said(others)}


def other_files(path: Path) -> Counter[str]:
    """How many files of a folder are left out, by extension: those without a reader, and links to files outside it."""
    files = _visible_files(path).values() if path.is_dir() else ()
    return Counter(kind for file in files if (kind := _unread_kind(file, path)))


def _unread_kind(file: Path, folder: Path) -> str:
    """What to call a file that is not read; "" for one that is. A link must not lead out: a folder that came from
    somebody else would bring other files of this machine into prompts and results.
    """
    if file.is_symlink() and not file.resolve().is_relative_to(folder.resolve()):
        return _LINK_OUT
    suffix = file.suffix.lower()
    return "" if suffix in _READERS else suffix or _NO_SUFFIX


def said(files: Counter[str]) -> str:
    """Numbers of files by extension, the commonest first, in words."""
    ordered = sorted(files.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n} {suffix}" for suffix, n in ordered)


def _visible_files(folder: Path) -> dict[str, Path]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    named = {_name(file, folder): file for file in files}
    return {name: file for name, file in named.items() if not any(part[0] == "." for part in name.split("/"))}


def _name(file: Path, folder: Path) -> str:
    """Its path in the folder, which becomes the document's id."""
    name = file.relative_to(folder).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{folder}: the name of the file {os.fsencode(name)!r} is not UTF-8. Rename it.") from error
    return name


def _read_jsonl(file: Path) -> tuple[Documents, dict[str, int | str]]:
    made_of_text: set[str] = set()
    n_repeated = 0
    ids: list[str] = []
    titles: list[str] = []
    texts: list[str] = []
    metadata: list[dict[str, str]] = []
    for where, record in read_records(file, _EXPECTED_FILE):
        text = required_text(record, "text", where)
        own_id = required_id(record, where) if record.get("id") is not None else ""
        if not own_id:
            own_id = hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]
            if own_id in made_of_text:
                n_repeated += 1
                continue
            made_of_text.add(own_id)
        ids.append(own_id)
        titles.append(optional_text(record, "title", where))
        texts.append(text)
        metadata.append(optional_facts(record, "metadata", where))
    return Documents(ids, titles, texts, metadata if any(metadata) else ()), {"n_documents_repeated": n_repeated}


def _read_text(file: Path, keep_structure: bool) -> Page:
    return Page(file.stem, "\n".join(line for _, line in read_lines(file, _EXPECTED_FOLDER)))


def _read_html(file: Path, keep_structure: bool) -> Page:
    page = read_html(read_bytes(file, _EXPECTED_FOLDER), str(file), keep_structure=keep_structure)
    return Page(page.title or file.stem, page.text)


def _read_pdf(file: Path, keep_structure: bool) -> Page:
    """The text of all pages; pages that are pictures have none."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtraError("pypdf", "readers", str(file)) from error
    try:
        reader = PdfReader(file)
        text = ("\n\f\n" if keep_structure else "\n").join(page.extract_text() for page in reader.pages)
        title = reader.metadata.title if reader.metadata else None
    except Exception as error:  # a damaged file can raise anything, from deep inside the parser
        raise DataError(f"{file}: cannot be read as PDF ({error}). Mend the file, or remove it.") from error
    return Page(str(title or file.stem), text)


_READERS: Mapping[str, Callable[[Path, bool], Page]] = {
    ".txt": _read_text,
    ".md": _read_text,
    ".rst": _read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
}
_PACKAGES = {".html": "bs4", ".htm": "bs4", ".pdf": "pypdf"}
