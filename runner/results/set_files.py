"""A test set as a folder of files.

documents.jsonl   {"id", "title", "text", "metadata"}
samples.jsonl     {"id", "question", "references", "gold", "subset", "topic", "task", "kind", "history", "provenance"}
edits.jsonl       {"sample", "field", "before", "after", "by", "version"}, if people changed something
manifest.json     {"content_key", "parent", "n_documents", "n_samples", and the `about` of the set}
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from components.datasets.data_files import require_folder
from components.datasets.json_fields import as_record, optional_texts, read_records, required_text
from components.datasets.json_files import read_json
from components.errors import DataError
from components.json_value import Json
from runner.console.written_files import sync
from runner.results.released_set import Edit, Testset
from runner.results.set_lines import document_lines, encode_line, read_sample, sample_line

DOCUMENTS, SAMPLES, EDITS, MANIFEST = "documents.jsonl", "samples.jsonl", "edits.jsonl", "manifest.json"
UNFINISHED = ".unfinished"
"""Suffix or name of a folder in which a set is being written."""

_EXPECTED = f"a test set: a folder with {DOCUMENTS}, {SAMPLES} and {MANIFEST}"
_COPY_AGAIN = "Copy the set again from its source, or generate it again."
_OWN_FIELDS = ("content_key", "parent", "n_documents", "n_samples")
"""Fields of the manifest other than `about`."""


def read_testset(folder: Path) -> Testset:
    """Read a set that `write_testset` wrote.

    Raises DataError for a folder that is not a test set, and for content that does not match the key in the
    manifest.
    """
    from components.datasets.document_files import read_documents  # a sweep does not need the many readers

    file = require_folder(folder, _EXPECTED) / MANIFEST
    manifest = as_record(read_json(file, _EXPECTED).value, str(file))
    key, parent = (required_text(manifest, name, str(file)) for name in ("content_key", "parent"))
    documents, _ = read_documents(folder / DOCUMENTS)
    parsed = [read_sample(record, location) for location, record in read_records(folder / SAMPLES, _EXPECTED)]
    testset = Testset(
        documents,
        tuple(sample for sample, _ in parsed),
        {sample.id: provenance for sample, provenance in parsed},
        parent,
        tuple(_read_edits(folder / EDITS)),
        {name: value for name, value in manifest.items() if name not in _OWN_FIELDS},
    )
    _require_intact(testset, folder)
    if testset.key != key:
        raise DataError(
            f"{folder}: {DOCUMENTS} and {SAMPLES} have the key {testset.key[:12]}, but {MANIFEST} has {key[:12]}: a "
            f"file was changed or damaged. {_COPY_AGAIN} To change a set, use python -m runner.annotate import."
        )
    return testset


def write_testset(
    folder: Path, testset: Testset, extra_files: Mapping[str, bytes] | None = None, *, replace: bool = False
) -> None:
    """Write the set, and other files by their paths in the folder. A new folder appears atomically.

    With `replace`, the files of an existing set are replaced one by one, while it has no manifest. Other files in the
    folder remain: see `require_replaceable`. Raises DataError for an invalid set (`Testset.problems`), for an existing
    folder that is not empty (without `replace`), and for a folder that cannot be written.
    """
    _require_intact(testset, folder)
    files = {**(extra_files or {}), **_files(testset)}
    folder = folder.resolve()  # the folder may be a link or "."
    try:
        is_new = not folder.exists()
        if not is_new and not replace and any(folder.iterdir()):
            raise DataError(f"{folder}: already exists, and versions are never overwritten. Choose another folder.")
        # An existing folder may be a mount, into which nothing can be moved from outside.
        with _empty_folder(
            folder.with_name(f".{folder.name}{UNFINISHED}") if is_new else folder / UNFINISHED
        ) as temporary:
            _write_files(temporary, files)
            if is_new:
                temporary.rename(folder)
            else:
                _exchange(temporary, folder, list(files))
        sync(folder.parent)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}). Choose another folder.") from error


def write_testsets(folder: Path, testsets: Mapping[str, Testset]) -> None:
    """Write sets into subfolders of a new folder, which appears atomically.

    Raises DataError for an invalid set, and if the folder cannot be written.
    """
    folder = folder.resolve()
    try:
        with _empty_folder(folder.with_name(f".{folder.name}{UNFINISHED}")) as temporary:
            for name, testset in testsets.items():
                _require_intact(testset, folder / name)
                _write_files(temporary / name, _files(testset))
            temporary.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}). Choose another folder.") from error


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        sync(path)


def holds_testset(folder: Path, testset: Testset, extra_files: Mapping[str, bytes]) -> bool:
    """Return True if the folder contains exactly the files that `write_testset` would write, byte for byte.

    False for a folder that does not exist. Raises DataError if it cannot be read.
    """
    files = {**extra_files, **_files(testset)}
    try:
        names = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
        return names == set(files) and all((folder / name).read_bytes() == files[name] for name in names)
    except OSError as error:
        raise DataError(f"{folder}: cannot be read ({error.strerror}). Choose another folder.") from error


def require_replaceable(folder: Path, about: Mapping[str, Json]) -> None:
    """Raise DataError unless `write_testset` may write a set described by `about` to the folder with `replace`.

    It may if the folder can be created, is empty, or has a set of the same corpus or an unfinished one. Sets that
    people corrected and other files are never overwritten.
    """
    folder = folder.resolve()
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        problem = "cannot be written to" if nearest.is_dir() else "is not a folder"
        raise DataError(f"{folder}: {nearest} {problem}. Choose another folder for the set.")
    if nearest != folder or not any(folder.iterdir()) or ((folder / UNFINISHED).exists() and not _has_manifest(folder)):
        return
    if not _has_manifest(folder):
        raise DataError(f"{folder}: contains files that are not part of a test set. Choose a new or empty folder.")
    manifest = as_record(read_json(folder / MANIFEST, _EXPECTED).value, str(folder / MANIFEST))
    if manifest.get("parent") or (folder / EDITS).exists():
        raise DataError(
            f"{folder}: contains a set that people corrected, which a run cannot reproduce. Choose another folder."
        )
    before, now = _identify_corpus(manifest), _identify_corpus(about)
    if before != now:
        raise DataError(
            f"{folder}: contains a set of another corpus, {before} instead of {now}. Choose another folder."
        )


def _has_manifest(folder: Path) -> bool:
    return (folder / MANIFEST).exists()


def _identify_corpus(about: Mapping[str, Json]) -> str:
    """Return the path of a set's corpus, or the class that generates its documents."""
    configuration = about.get("configuration")
    corpus = configuration.get("corpus") if isinstance(configuration, dict) else None
    return str(corpus.get("path") or corpus.get("_target_")) if isinstance(corpus, dict) else "an unknown one"


def _require_intact(testset: Testset, folder: Path) -> None:
    if problems := testset.problems():
        more = f" (and {len(problems) - 1} more like it)" if problems[1:] else ""
        raise DataError(f"{folder}: {problems[0]}{more}, expected {_EXPECTED}, with all gold in its documents")


def _files(testset: Testset) -> dict[str, bytes]:
    """Return the files of a set. The manifest is last."""
    values = (testset.key, testset.parent, len(testset.documents), len(testset.samples))
    fields = dict(zip(_OWN_FIELDS, values, strict=True))
    samples = [{**sample_line(each), "provenance": testset.provenance.get(each.id, {})} for each in testset.samples]
    edits = {EDITS: b"".join(encode_line({**vars(edit), "by": list(edit.by)}) for edit in testset.edits)}
    return {
        DOCUMENTS: b"".join(map(encode_line, document_lines(testset.documents))),
        SAMPLES: b"".join(map(encode_line, samples)),
        **(edits if testset.edits else {}),
        MANIFEST: (json.dumps({**fields, **testset.about, **fields}, ensure_ascii=False, indent=2) + "\n").encode(),
    }


def _read_edits(file: Path) -> Iterator[Edit]:
    for location, record in read_records(file, "edits of a test set") if file.exists() else ():
        sample, name, version = (required_text(record, field, location) for field in ("sample", "field", "version"))
        before, after = (_value(record, field, location) for field in ("before", "after"))
        yield Edit(sample, name, before, after, optional_texts(record, "by", location), version)


def _value(record: Mapping[str, Json], name: str, location: str) -> Json:
    if name not in record:
        raise DataError(f"{location}: an edit without '{name}'. {_COPY_AGAIN}")
    return record[name]


@contextmanager
def _empty_folder(temporary: Path) -> Iterator[Path]:
    """Create an empty folder, without files that a killed process left. It is deleted at the end unless it was
    renamed.
    """
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _exchange(temporary: Path, folder: Path, names: list[str]) -> None:
    """Move files into the folder, the manifest last, so that a partial set has none."""
    for name in (MANIFEST, EDITS):
        (folder / name).unlink(missing_ok=True)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (temporary / name).replace(folder / name)
    sync(folder)
