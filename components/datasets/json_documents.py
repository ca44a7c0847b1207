"""Documents in JSON and in JSON Lines: objects of a text, and what else is known of it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

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
from components.datasets.reading import read_lines
from components.datasets.texts_on_disk import GatheredTexts

EXPECTED = 'documents as JSON Lines, {"text"} with "id", "title" and "metadata" if there are any'
_EXPECTED_LIST = 'documents as JSON, a list of {"text"} with "id", "title" and "metadata" if there are any'
_ID_DIGITS = 12
_NO_FACTS: Mapping[str, str] = {}
"""One for all documents that say nothing besides."""


@dataclass(frozen=True)
class JsonContent(FileContent):
    """Documents that may be many."""

    entries: EntryColumns


def read_json_documents(file: Path) -> FileContent:
    """A document per object, its id as its part. Without an id it is derived from the text, so that it stays the same
    when documents are added, and repeated texts are left out and counted. Raises DataError.
    """
    return _documents(_records(file))


def read_json_in_folder(file: Path, options: ReadingOptions) -> FileContent:
    """The same of a file in a folder. One whose first record has no text holds something else, and is counted."""
    records = _records(file)
    first = next(records, None)
    if first is None or "text" not in first[1]:
        return FileContent([], {"n_json_files_without_texts": 1})
    content = _documents(chain([first], records))
    return FileContent(replace(content.entries, parts=[f"/{part}" for part in content.entries.parts]), content.counts)


def _records(file: Path) -> Iterator[tuple[str, Record]]:
    """(where, record) of JSON Lines, as which many files named `.json` are written too, or of a list of objects."""
    if file.suffix.lower() != ".json" or _begins_with_a_line(file):
        yield from read_records(file, EXPECTED)
        return
    value = read_json(file, _EXPECTED_LIST).value
    for place, each in enumerate(value if isinstance(value, list) else [value], start=1):
        where = f"{file}, record {place}"
        yield where, as_record(each, where)


def _begins_with_a_line(file: Path) -> bool:
    first = next((line for _, line in read_lines(file, EXPECTED) if line.strip()), "")
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):  # the beginning of a longer text
        return False


def _documents(records: Iterable[tuple[str, Record]]) -> "JsonContent":
    made_of_text: set[str] = set()
    n_repeated = 0
    ids: list[str] = []
    titles: list[str] = []
    metadata: list[Mapping[str, str]] = []
    texts = GatheredTexts()
    for where, record in records:
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
        metadata.append(optional_facts(record, "metadata", where) or _NO_FACTS)
        texts.append(text)
    entries = EntryColumns(ids, titles, texts.all(), metadata)
    return JsonContent(entries, {"n_documents_repeated": n_repeated})
