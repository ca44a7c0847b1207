"""A released set as a folder of files.

documents.jsonl   {"id", "title", "text", "metadata"}
samples.jsonl     {"id", "question", "references", "gold", "subset", "topic", "task", "kind", "history", "provenance"}
edits.jsonl       {"sample", "field", "before", "after", "by", "version"}, if people changed something
manifest.json     {"content_key", "parent", "n_documents", "n_samples", and what made it}
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from components.datasets.document_files import read_documents
from components.datasets.json_fields import as_record, optional_texts, read_records, required_text
from components.datasets.json_files import read_json
from components.datasets.reading import require_folder
from components.errors import DataError
from components.json_value import Json
from runner.console.written_files import sync
from runner.results.released_set import Edit, Testset
from runner.results.set_lines import document_lines, line_of, read_sample, sample_line

DOCUMENTS, SAMPLES, EDITS, MANIFEST = "documents.jsonl", "samples.jsonl", "edits.jsonl", "manifest.json"
UNFINISHED = ".unfinished"
"""A folder in which a set is put together."""

_EXPECTED = f"a released set: a folder with {DOCUMENTS}, {SAMPLES} and {MANIFEST}"
_OWN_FIELDS = ("content_key", "parent", "n_documents", "n_samples")
"""Of the manifest."""


def read_testset(folder: Path) -> Testset:
    """What `write_testset` wrote. Raises DataError for a folder that is no released set, and for one that was changed:
    whose content does not have the key that its manifest says.
    """
    file = require_folder(folder, _EXPECTED) / MANIFEST
    manifest = as_record(read_json(file, _EXPECTED).value, str(file))
    key, parent = (required_text(manifest, name, str(file)) for name in ("content_key", "parent"))
    documents, _ = read_documents(folder / DOCUMENTS)
    read = [read_sample(record, where) for where, record in read_records(folder / SAMPLES, _EXPECTED)]
    testset = Testset(
        documents,
        tuple(sample for sample, _ in read),
        {sample.id: provenance for sample, provenance in read},
        parent,
        tuple(_read_edits(folder / EDITS)),
        {name: value for name, value in manifest.items() if name not in _OWN_FIELDS},
    )
    _require_sound(testset, folder)
    if testset.key != key:
        raise DataError(
            f"{folder}: {DOCUMENTS} and {SAMPLES} have the key {testset.key[:12]}, {MANIFEST} says {key[:12]}: a file "
            "was changed or damaged. Fetch the set again; changes are made by python -m runner.annotate import."
        )
    return testset


def write_testset(
    folder: Path, testset: Testset, others: Mapping[str, bytes] | None = None, *, replace: bool = False
) -> None:
    """Writes the set, and other files by their paths in the folder: a new folder is there as a whole or not at all.

    With `replace` the files of a set that is there are exchanged one by one, while it has no manifest, and what else is
    in the folder stays: see `require_replaceable`. Raises DataError for a set that is not sound (`Testset.mistakes`), a
    folder that is there and not empty (without `replace`), and one that cannot be written.
    """
    _require_sound(testset, folder)
    files = {**(others or {}), **_files(testset)}
    folder = folder.resolve()  # the place of a link, and the name of "."
    try:
        is_new = not folder.exists()
        if not is_new and not replace and any(folder.iterdir()):
            raise DataError(f"{folder}: is there already. Choose another place: no version is written over.")
        # A folder that is there may be a mount: nothing can be moved into it from beside it.
        with _emptied(folder.with_name(f".{folder.name}{UNFINISHED}") if is_new else folder / UNFINISHED) as temporary:
            _write_files(temporary, files)
            if is_new:
                temporary.rename(folder)
            else:
                _exchange(temporary, folder, list(files))
        sync(folder.parent)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}). Choose another place.") from error


def write_testsets(folder: Path, testsets: Mapping[str, Testset]) -> None:
    """Writes sets into folders of a new folder, which is there as a whole or not at all. Raises DataError."""
    folder = folder.resolve()
    try:
        with _emptied(folder.with_name(f".{folder.name}{UNFINISHED}")) as temporary:
            for name, testset in testsets.items():
                _require_sound(testset, folder / name)
                _write_files(temporary / name, _files(testset))
            temporary.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}). Choose another place.") from error


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        sync(place)


def holds_testset(folder: Path, testset: Testset, others: Mapping[str, bytes]) -> bool:
    """Return True if the folder holds exactly what `write_testset` would write into it, byte for byte; False for a
    folder that does not exist or holds anything else. Raises DataError if it cannot be read.
    """
    files = {**others, **_files(testset)}
    try:
        found = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
        return found == set(files) and all((folder / name).read_bytes() == files[name] for name in found)
    except OSError as error:
        raise DataError(f"{folder}: cannot be read ({error.strerror}). Choose another place.") from error


def require_replaceable(folder: Path, about: Mapping[str, Json]) -> None:
    """Raises DataError unless a set that is made as `about` says may be written to the folder with `replace`: if that
    can be made, is empty, or has a set that was made of the same corpus, or half of one that was being written. What
    people corrected, and what is no set, is never written over.
    """
    folder = folder.resolve()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        what = "cannot be written to" if there.is_dir() else "is no folder"
        raise DataError(f"{folder}: {there} {what}. Choose another place for the set.")
    if there != folder or not any(folder.iterdir()) or ((folder / UNFINISHED).exists() and not _has_manifest(folder)):
        return
    if not _has_manifest(folder):
        raise DataError(f"{folder}: is there, and no released set. Choose a place for the set that is new or empty.")
    manifest = as_record(read_json(folder / MANIFEST, _EXPECTED).value, str(folder / MANIFEST))
    if manifest.get("parent") or (folder / EDITS).exists():
        raise DataError(
            f"{folder}: has a set that people corrected, which no run can make again. Choose another place."
        )
    before, now = _corpus_of(manifest), _corpus_of(about)
    if before != now:
        raise DataError(
            f"{folder}: has a set of another corpus: {before}, not {now}. Choose another place for this one."
        )


def _has_manifest(folder: Path) -> bool:
    return (folder / MANIFEST).exists()


def _corpus_of(about: Mapping[str, Json]) -> str:
    """Where its documents were read, or by which class those of no file are made."""
    configuration = about.get("configuration")
    corpus = configuration.get("corpus") if isinstance(configuration, dict) else None
    return str(corpus.get("path") or corpus.get("_target_")) if isinstance(corpus, dict) else "an unknown one"


def _require_sound(testset: Testset, folder: Path) -> None:
    if mistakes := testset.mistakes():
        more = f" (and {len(mistakes) - 1} more like it)" if mistakes[1:] else ""
        raise DataError(f"{folder}: {mistakes[0]}{more}. Expected: {_EXPECTED}, whose gold lies in its documents.")


def _files(testset: Testset) -> dict[str, bytes]:
    """The manifest is the last."""
    own = (testset.key, testset.parent, len(testset.documents), len(testset.samples))
    fields = dict(zip(_OWN_FIELDS, own, strict=True))
    samples = [{**sample_line(each), "provenance": testset.provenance.get(each.id, {})} for each in testset.samples]
    edits = {EDITS: b"".join(line_of({**vars(edit), "by": list(edit.by)}) for edit in testset.edits)}
    return {
        DOCUMENTS: b"".join(map(line_of, document_lines(testset.documents))),
        SAMPLES: b"".join(map(line_of, samples)),
        **(edits if testset.edits else {}),
        MANIFEST: (json.dumps({**fields, **testset.about, **fields}, ensure_ascii=False, indent=2) + "\n").encode(),
    }


def _read_edits(file: Path) -> Iterator[Edit]:
    for where, record in read_records(file, "edits of a released set") if file.exists() else ():
        sample, name, version = (required_text(record, field, where) for field in ("sample", "field", "version"))
        before, after = (_value(record, field, where) for field in ("before", "after"))
        yield Edit(sample, name, before, after, optional_texts(record, "by", where), version)


def _value(record: Mapping[str, Json], name: str, where: str) -> Json:
    if name not in record:
        raise DataError(f"{where}: an edit without '{name}'. Fetch the set again.")
    return record[name]


@contextmanager
def _emptied(temporary: Path) -> Iterator[Path]:
    """A folder to write into, without what a killed process left in it; gone at the end if it was not renamed."""
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _exchange(temporary: Path, folder: Path, names: list[str]) -> None:
    """Without a manifest no half of a set is taken for a whole one."""
    for name in (MANIFEST, EDITS):
        (folder / name).unlink(missing_ok=True)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (temporary / name).replace(folder / name)
    sync(folder)
