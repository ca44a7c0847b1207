"""Documents in JSON and in JSON Lines: objects with a text, and optionally an id, a title and metadata."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from components.datasets.data_files import read_lines
from components.datasets.file_content import EntryColumns, FileContent, ReadingOptions
from components.datasets.json_fields import (
    Record,
    as_record,
    optional_facts,
    optional_text,
    read_records,
    required_id,
    required_text,
)
from components.datasets.json_files import read_json
from components.datasets.texts_on_disk import GatheredTexts

EXPECTED = 'documents as JSON Lines, {"text"} with "id", "title" and "metadata" if there are any'
_EXPECTED_LIST = 'documents as JSON, a list of {"text"} with "id", "title" and "metadata" if there are any'
_ID_DIGITS = 12
_NO_FACTS: Mapping[str, str] = {}
"""One object for all documents without metadata."""


@dataclass(frozen=True)
class JsonContent(FileContent):
    """Documents of a file of JSON as columns, because they may be many."""

    entries: EntryColumns


def read_json_documents(file: Path) -> FileContent:
    """Return a document per object, with its id as its part.

    A missing id is derived from the text, so that it stays the same when documents are added; repeated texts are then
    left out and counted. Raises DataError for a file that cannot be read, and for records without a text.
    """
    return _documents(_records(file))


def read_json_in_folder(file: Path, options: ReadingOptions) -> FileContent:
    """Read a file in a folder like `read_json_documents`, with "/" before each part.

    A file whose first record has no text contains something else: it is counted and has no documents.
    """
    records = _records(file)
    first = next(records, None)
    if first is None or "text" not in first[1]:
        return FileContent([], {"n_json_files_without_texts": 1})
    content = _documents(chain([first], records))
    return FileContent(replace(content.entries, parts=[f"/{part}" for part in content.entries.parts]), content.counts)


def _records(file: Path) -> Iterator[tuple[str, Record]]:
    """Yield (location, record) of JSON Lines or of a list of objects. Many files named `.json` contain JSON Lines."""
    if file.suffix.lower() != ".json" or _begins_with_a_line(file):
        yield from read_records(file, EXPECTED)
        return
    value = read_json(file, _EXPECTED_LIST).value
    for number, record in enumerate(value if isinstance(value, list) else [value], start=1):
        location = f"{file}, record {number}"
        yield location, as_record(record, location)


def _begins_with_a_line(file: Path) -> bool:
    first = next((line for _, line in read_lines(file, EXPECTED) if line.strip()), "")
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):  # the first line of a JSON value that has several
        return False


def _documents(records: Iterable[tuple[str, Record]]) -> "JsonContent":
    made_of_text: set[str] = set()
    n_repeated = 0
    ids: list[str] = []
    titles: list[str] = []
    metadata: list[Mapping[str, str]] = []
    texts = GatheredTexts()
    for location, record in records:
        text = required_text(record, "text", location)
        own_id = required_id(record, location) if record.get("id") is not None else ""
        if not own_id:
            own_id = hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]
            if own_id in made_of_text:
                n_repeated += 1
                continue
            made_of_text.add(own_id)
        ids.append(own_id)
        titles.append(optional_text(record, "title", location))
        metadata.append(optional_facts(record, "metadata", location) or _NO_FACTS)
        texts.append(text)
    entries = EntryColumns(ids, titles, texts.all(), metadata)
    return JsonContent(entries, {"n_documents_repeated": n_repeated})
