"""Reads a user's documents: a JSON Lines file, a folder of files in many formats, or a single such file.

Beautiful Soup reads HTML and pypdf reads PDF; llama-index's file readers use the same libraries. llama-index's package
requires an older pandas than this project, so the two cannot be installed together.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from components.datasets.csv_file import read_csv
from components.datasets.data_files import HIDDEN_PREFIXES, allowed_folders, check_path, read_bytes
from components.datasets.file_content import OFFICE_SUFFIXES, EntryColumns, FileContent, FileEntry, ReadingOptions
from components.datasets.html_text import read_html
from components.datasets.json_documents import EXPECTED as _EXPECTED_FILE
from components.datasets.json_documents import read_json_documents, read_json_in_folder
from components.datasets.parsed_file import find_parser, read_parsed
from components.datasets.pdf_file import read_pdf
from components.datasets.sqlite_file import is_database, read_database
from components.datasets.text_file import read_markdown, read_text
from components.errors import DataError, MissingExtraError
from components.records import Documents

EXPECTED_FOLDER = "documents as .txt, .md, .rst, .html, .pdf, .jsonl, .json, .csv, .tsv, .sqlite or .db files"
_JSON_LINES = "documents.jsonl"
_NO_SUFFIX = "without extension"
_LINK_OUT = "leading out of the folder"
_LINK_TO_FOLDER = "linking to a folder"
_LINK_NOWHERE = "linking to nothing"
_NO_FILE = "special (a pipe, socket or device)"
_PLAIN = ReadingOptions()


def document_files(path: Path, options: ReadingOptions = _PLAIN) -> dict[str, Path]:
    """Return the files to read by name: the file itself, or every readable file of a folder by its path in the folder.

    Hidden files are left out. Raises DataError if no file can be read.
    """
    if check_path(path, Path.is_file, EXPECTED_FOLDER):
        return {_JSON_LINES if _is_json(path, options) else path.name: path}
    if not path.is_dir():
        raise DataError(f"{path}: does not exist, expected {_EXPECTED_FILE}, or a folder of {EXPECTED_FOLDER}")
    files = {name: file for name, file in _visible_files(path).items() if not _unread_kind(file, path, options)}
    if not files:
        content = format_kinds(count_unread_files(path, options))
        hint = " parser=office reads Office files." if any(suffix in content for suffix in OFFICE_SUFFIXES) else ""
        others = f", only {content}" if content else ""
        raise DataError(f"{path}: it has no readable file{others}. Expected {EXPECTED_FOLDER}.{hint}")
    return files


def missing_extras(path: Path, options: ReadingOptions = _PLAIN) -> list[str]:
    """Return a message per extra that names the missing libraries for files under `path`; [] if all are installed."""
    suffixes = {file.suffix.lower() for file in document_files(path, options).values()}
    needed: dict[str, set[str]] = {}
    for suffix in suffixes:
        if parser := find_parser(suffix, options):
            needed.setdefault(parser.extra, set()).update(parser.packages)
        elif package := _PACKAGES.get(suffix):
            needed.setdefault(_EXTRA, set()).add(package)
    missing = {extra: [name for name in sorted(names) if find_spec(name) is None] for extra, names in needed.items()}
    return [
        str(MissingExtraError(names, extra, f"documents: {path}")) for extra, names in sorted(missing.items()) if names
    ]


def read_documents(path: Path, options: ReadingOptions = _PLAIN) -> tuple[Documents, dict[str, int | str]]:
    """Return the documents, and counts for the notes.

    In a folder, a document's id is its path, followed by its part of the file if a file has several documents. In a
    single file of JSON, it is the document's `id`; see `read_json_documents`. `metadata` is an object of strings or
    numbers. Raises DataError for files that cannot be read, and MissingExtraError for a missing library.
    """
    files = document_files(path, options)
    if path.is_file() and _is_json(path, options):
        content = read_json_documents(path)
        return _as_documents({"": content}), dict(content.counts)
    contents = {name: _choose_reader(file, options)(file, options) for name, file in files.items()}
    others = count_unread_files(path, options)
    counts = sum((Counter(content.counts) for content in contents.values()), Counter[str]())
    documents = _as_documents(contents)
    _require_columns(path, contents.values(), options)
    if not len(documents) and (n_passed_over := counts["n_json_files_without_texts"]):
        raise DataError(
            f"{path}: none of its {n_passed_over} JSON files begins with a record that has a field 'text', so no "
            f"document was read, expected {_EXPECTED_FILE}. Rename the field that holds the text."
        )
    return documents, {
        "n_files_of_other_kinds": others.total(),
        "files_of_other_kinds": format_kinds(others),
        **{name: n for name, n in sorted(counts.items()) if n},
    }


def _require_columns(path: Path, contents: Collection[FileContent], options: ReadingOptions) -> None:
    """Raise DataError for a column of `text_columns` that no table has: its text would be missing from the corpus.

    A folder without tables is legal.
    """
    columns = frozenset[str]().union(*(content.text_columns for content in contents))
    lacking = [column for column in options.text_columns if column not in columns]
    if lacking and (columns or any(content.counts.get("n_tables_without_text_columns") for content in contents)):
        names = " or ".join(map(repr, lacking))
        raise DataError(f"{path}: no table in it has a column {names}. Correct `text_columns`.")


def is_row(document_id: str) -> bool:
    """Return True for the id of a row of a table. The rows of a table are similar documents by design."""
    return any(parent.suffix.lower() in _TABLE_SUFFIXES for parent in PurePosixPath(document_id).parents)


def _is_json(file: Path, options: ReadingOptions) -> bool:
    """Return True if a file that is read by itself is read as JSON. Files with unknown extensions count as JSON."""
    suffix = file.suffix.lower()
    return suffix in _JSON_SUFFIXES if _is_known(suffix, options) else not options.one_per_line


def _as_documents(contents: Mapping[str, FileContent]) -> Documents:
    if len(contents) == 1:
        ((name, content),) = contents.items()
        if isinstance(columns := content.entries, EntryColumns):
            ids = [name + part for part in columns.parts]
            return Documents(ids, columns.titles, columns.texts, columns.metadata if any(columns.metadata) else ())
    entries = [(name, entry) for name, content in contents.items() for entry in content.entries]
    metadata = [entry.metadata for _, entry in entries]
    return Documents(
        [name + entry.part for name, entry in entries],
        [entry.title for _, entry in entries],
        [entry.text for _, entry in entries],
        metadata if any(metadata) else (),
    )


def count_unread_files(path: Path, options: ReadingOptions = _PLAIN) -> Counter[str]:
    """Return the number of files of a folder that are not read, by kind: an extension without a reader, links out of
    the folder, links to folders, broken links, and special files.
    """
    files = _visible_files(path).values() if path.is_dir() else ()
    return Counter(kind for file in files if (kind := _unread_kind(file, path, options)))


def _unread_kind(file: Path, folder: Path, options: ReadingOptions) -> str:
    """Return the kind of a file that is not read; "" for a file that is read.

    Links out of the folder are not read: a folder from another author could bring any file of this machine into
    prompts and results.
    """
    if check_path(file, Path.is_dir, EXPECTED_FOLDER):
        return _LINK_TO_FOLDER
    if not file.is_file():  # before links are resolved, which fails for links in a circle
        return _LINK_NOWHERE if file.is_symlink() else _NO_FILE
    if file.is_symlink() and not any(
        file.resolve().is_relative_to(place) for place in allowed_folders(folder.resolve())
    ):
        return _LINK_OUT
    suffix = file.suffix.lower()
    if suffix == ".db" and not is_database(file):
        return ".db of another kind"
    return "" if _is_known(suffix, options) or options.one_per_line else suffix or _NO_SUFFIX


def _is_known(suffix: str, options: ReadingOptions) -> bool:
    return suffix in _READERS or find_parser(suffix, options) is not None


def format_kinds(files: Counter[str]) -> str:
    """Return the numbers of files by kind as a string such as "3 .docx, 1 .xls", the most frequent first."""
    ordered = sorted(files.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n} {suffix}" for suffix, n in ordered)


def _visible_files(folder: Path) -> dict[str, Path]:
    """Return all files and all links to folders that are not hidden, by their path. Links are not followed.

    Raises DataError for a folder that cannot be listed: its documents would be missing from the corpus.
    """
    paths: list[Path] = []
    for parent, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if name[0] != "."]
        paths += [Path(parent, name) for name in files if not name.startswith(HIDDEN_PREFIXES)]
        links = [Path(parent, name) for name in folders]
        paths += [link for link in links if check_path(link, Path.is_symlink, EXPECTED_FOLDER)]
    return {_name(path, folder): path for path in sorted(paths)}


def _refuse(error: OSError) -> None:
    raise DataError(
        f"{error.filename}: cannot be listed ({error.strerror}). Make the folder readable, or move it elsewhere."
    ) from error


def _name(file: Path, folder: Path) -> str:
    """Return the path of a file in the folder, which becomes the document's id."""
    name = file.relative_to(folder).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{folder}: the name of the file {os.fsencode(name)!r} is not UTF-8. Rename it.") from error
    return name


def _read_html(file: Path, options: ReadingOptions) -> FileContent:
    page = read_html(read_bytes(file, EXPECTED_FOLDER), str(file), keep_structure=options.keep_structure)
    return FileContent([FileEntry("", page.title or file.stem, page.text)])


def _choose_reader(file: Path, options: ReadingOptions) -> Callable[[Path, ReadingOptions], FileContent]:
    suffix = file.suffix.lower()
    return read_parsed if find_parser(suffix, options) else _READERS.get(suffix, read_text)


_READERS: Mapping[str, Callable[[Path, ReadingOptions], FileContent]] = {
    ".txt": read_text,
    ".md": read_markdown,
    ".rst": read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": read_pdf,
    ".jsonl": read_json_in_folder,
    ".json": read_json_in_folder,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".sqlite": read_database,
    ".sqlite3": read_database,
    ".db": read_database,
}
_JSON_SUFFIXES = frozenset((".json", ".jsonl"))
_TABLE_SUFFIXES = frozenset((".csv", ".tsv", ".sqlite", ".sqlite3", ".db"))
_EXTRA = "readers"
_PACKAGES = {".html": "bs4", ".htm": "bs4", ".pdf": "pypdf"}
