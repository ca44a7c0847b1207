"""CRUD-RAG's published questions with their reference answers, in files named <task>_quest_gt_save.json."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from components.errors import DataError
from components.identified_files import note_identified
from components.json_value import name_kind

_SUFFIX = "_quest_gt_save.json"
_SUBSETS = {
    "HalluModified": "update/hallucination",
    "QuestAnswer1Doc": "read/qa_1doc",
    "QuestAnswer2Docs": "read/qa_2docs",
    "QuestAnswer3Docs": "read/qa_3docs",
}
"""The subset of the samples in each file. An ID may occur in several files, with different questions in each."""


@dataclass(frozen=True)
class PublishedQuestions:
    """One entry of a file as published. It may be empty, or have unequal numbers of questions and answers."""

    questions: tuple[str, ...]
    answers: tuple[str, ...]


def question_files(path: Path) -> list[Path]:
    """Return the file, or the files with published names in a folder, in a fixed order.

    Raises DataError if none exists.
    """
    files = [path / f"{task}{_SUFFIX}" for task in _SUBSETS] if path.is_dir() else [path]
    existing = [file for file in files if file.is_file()]
    if not existing:
        raise DataError(
            f"{path}: does not exist, expected a file with published questions, or a folder with one or more of "
            f"{', '.join(f'{task}{_SUFFIX}' for task in _SUBSETS)}"
        )
    return existing


def read_published(path: Path) -> dict[str, PublishedQuestions]:
    """Return the entries by sample id.

    In a file with a published name, a key is the ID of an item of that subset. In any other file, it is the whole id of
    a sample. Raises DataError if a file is missing or not JSON, or if an entry does not consist of lists of strings.
    """
    published = {}
    for file in question_files(path):
        subset = _SUBSETS.get(file.name.removesuffix(_SUFFIX))
        for key, value in _entries(file).items():
            published[f"{subset}/{key}" if subset else key] = _entry(value, f"{file}, entry {key!r}")
    return published


def hash_published_files(path: Path) -> str:
    """Return the SHA-256 (hex) of the names and contents of the files. Raises DataError if no file exists."""
    digest = hashlib.sha256()
    for file in question_files(path):
        stat = file.stat()
        note_identified(file)
        digest.update(f"{file.name}\0{_sha256(file, stat.st_size, stat.st_mtime_ns)}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=64)
def _sha256(file: Path, size: int, modified_ns: int) -> str:
    """Return the hash of a file. Size and modification time are cache keys, because every cell needs the hash."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _entries(file: Path) -> Mapping[str, object]:
    try:
        value = json.loads(file.read_bytes())
    except (RecursionError, ValueError) as error:
        raise DataError(
            f"{file}: is not JSON ({error}), expected published questions. Fetch the file again."
        ) from error
    if not isinstance(value, dict):
        raise DataError(f"{file}: got a {name_kind(value)}, expected an object of entries by ID")
    return value


def _entry(value: object, location: str) -> PublishedQuestions:
    if not isinstance(value, dict):
        raise DataError(f"{location}: got a {name_kind(value)}, expected an object with 'question' and 'answers'")
    return PublishedQuestions(_texts(value.get("question", []), location), _texts(value.get("answers", []), location))


def _texts(value: object, location: str) -> tuple[str, ...]:
    if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        raise DataError(f"{location}: got {value!r}, expected lists of strings under 'question' and 'answers'")
    return tuple(value)
