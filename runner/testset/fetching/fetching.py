"""python -m runner.datasets fetch NAME: a published data set in a separate folder, whole or not at all.

Everything is written to `NAME/.partial`. The last step renames the finished set to its revision. A manifest next to the
files records revisions, licences, and the SHA-256 of what was downloaded and of what was made from it.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from components.datasets.beir_files import CORPUS, QUERIES
from components.datasets.named_sets import BY_HAND, MANIFEST, NAMED_SETS, NamedSet, Pin, data_folder, fetch_folder
from components.errors import DataError
from components.json_value import Json
from components.limits import expected_one_of
from runner.console.written_files import write_whole
from runner.testset.fetching.conversion import QRELS, convert
from runner.testset.fetching.downloads import Report, difference, download, file_errors, hash_file
from runner.testset.fetching.hub import Hub, HubFile, InterruptedDownload, Offline, Repository
from runner.testset.fetching.repository_files import judgement_files, local_name, record_files

_BRANCH = "main"
_PARTIAL, _STARTED = ".partial", "revisions.json"

Parts = dict[str, tuple[Repository, list[str]]]
"""The repository and the paths of each part: corpus, queries, qrels."""
Files = Mapping[str, list[Path]]
"""The downloaded files of each part, in the order of the paths."""


def fetch(name: str, source: Path | None, report: Report) -> Path:
    """Return the folder of a data set, after downloading it or checking the existing folder.

    `source` is a folder with the repository's files, which replaces the hub. Raises DataError for an unknown name, an
    unreachable hub, and files that differ from the expected ones.
    """
    if name not in NAMED_SETS:
        raise DataError(f"fetch: got {name!r}{expected_one_of(name, sorted(NAMED_SETS))}")
    named = NAMED_SETS[name]
    base = data_folder() / name
    with _lock(base):
        if folder := fetch_folder(named):
            _check_unchanged(folder)
            report(f"{name}: already in {folder}; its files match {MANIFEST}")
            return folder
        if source is not None:
            return _take_from_folder(named, source, base, report)
        return _fetch_from_hub(named, base, report)


@contextmanager
def _lock(base: Path) -> Iterator[None]:
    with file_errors(base):
        base.mkdir(parents=True, exist_ok=True)
        lock = FileLock(base / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise DataError(f"{base}: another process is fetching this data set. Wait until it has ended.") from None
    try:
        yield
    finally:
        lock.release()


def _check_unchanged(folder: Path) -> None:
    manifest = _read_json(folder / MANIFEST)
    try:
        expected = {name: HubFile(file["n_bytes"], file["sha256"]) for name, file in manifest["files"].items()}
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{folder / MANIFEST}: is not a data set manifest. Delete {folder} and fetch again.") from None
    wrong = [f"{folder / name}: {text}" for name, file in expected.items() if (text := difference(folder / name, file))]
    if wrong:
        raise DataError(f"{'; '.join(wrong)}. Delete {folder} and fetch again.")


def _fetch_from_hub(named: NamedSet, base: Path, report: Report) -> Path:
    hub = Hub()
    partial = base / _PARTIAL
    try:
        parts = _resolve_parts(named, hub, partial)
        _report_sources(named, parts, report)
        _require_space(parts, partial)
        files = _download_parts(hub, parts, partial / "downloads", report)
    except (Offline, InterruptedDownload) as error:
        raise DataError(f"{named.name}: {error}. {_advice(named, hub)}") from None
    return _finish(named, parts, files, base, next(iter(parts.values()))[0].commit, report)


def _resolve_parts(named: NamedSet, hub: Hub, partial: Path) -> Parts:
    """Return the parts at pinned revisions, or at the revisions of an interrupted download or the branch."""
    started = _read_json(partial / _STARTED) if (partial / _STARTED).is_file() else {}
    pinned = {named.repo: named.revision, named.qrels_repo: named.qrels_revision}
    if any(revision and revision != started.get(repo, revision) for repo, revision in pinned.items()):
        _remove(partial)
        started = {}
    revisions = {repo: revision or started.get(repo) or _BRANCH for repo, revision in pinned.items()}
    repositories = {repo: _pin(named, hub.repository(repo, revision)) for repo, revision in revisions.items()}
    parts = _parts(named, repositories[named.repo], repositories[named.qrels_repo])
    with file_errors(partial):
        (partial / "downloads").mkdir(parents=True, exist_ok=True)
        _write_json(partial / _STARTED, {repo: repository.commit for repo, repository in repositories.items()})
    return parts


def _pin(named: NamedSet, repo: Repository) -> Repository:
    return replace(repo, files={path: _find_pin(named, path, file) for path, file in repo.files.items()})


def _find_pin(named: NamedSet, path: str, file: HubFile) -> HubFile:
    """Return the pin of a file if the table has one, else what the hub says."""
    pin = named.pins.get(path)
    return HubFile(pin.n_bytes, pin.sha256) if pin else file


def _parts(named: NamedSet, texts: Repository, judgements: Repository) -> Parts:
    in_corpus, in_queries, in_qrels = named.parts
    corpus = record_files(texts.files, in_corpus, texts.name)
    queries = record_files(texts.files, in_queries, texts.name)
    qrels = judgement_files(judgements.files, in_qrels, judgements.name)
    return {"corpus": (texts, corpus), "queries": (texts, queries), "qrels": (judgements, qrels)}


def _report_sources(named: NamedSet, parts: Parts, report: Report) -> None:
    for repo in {repo.name: repo for repo, _ in parts.values()}.values():
        report(f"{repo.name}: revision {repo.commit}, licence {repo.licence or named.licence}")
    if not named.revision:
        report(f"{named.name}: this version pins no revision and no hashes; {MANIFEST} records those of this download")


def _require_space(parts: Parts, partial: Path) -> None:
    """Raise DataError if the downloads alone need more than the free space."""
    n_needed = sum(repo.files[path].n_bytes for repo, paths in parts.values() for path in paths)
    with file_errors(partial):
        n_here = sum(file.stat().st_size for file in (partial / "downloads").iterdir())
        n_free = shutil.disk_usage(partial).free
    if n_needed - n_here > n_free:
        raise DataError(
            f"{partial}: no space: the download needs {n_needed - n_here:,} bytes, {n_free:,} are free. Choose another "
            "folder with RAG_GRID_DATA."
        )


def _download_parts(hub: Hub, parts: Parts, folder: Path, report: Report) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    for part, (repo, paths) in parts.items():
        for number, path in enumerate(paths):
            report(f"{path}: {repo.files[path].n_bytes:,} bytes")
            target = folder / local_name(part, number, path)
            download(hub, repo, path, target, report)
            files.setdefault(part, []).append(target)
    return files


def _take_from_folder(named: NamedSet, source: Path, base: Path, report: Report) -> Path:
    """Make the data set of files that were downloaded in another way."""
    with file_errors(source):
        paths = {
            (name := path.relative_to(source).as_posix()): _find_pin(named, name, HubFile(path.stat().st_size))
            for path in sorted(source.rglob("*"))
            if path.is_file()
        }
    texts, judgements = (Repository(name, BY_HAND, "", paths) for name in (named.repo, named.qrels_repo))
    parts = _parts(named, texts, judgements)
    files = {part: [source / path for path in paths] for part, (_, paths) in parts.items()}
    for path, file in ((path, source / path) for _, paths in parts.values() for path in paths):
        if wrong := difference(file, texts.files[path]):
            raise DataError(f"{file}: {wrong}. Download it again.")
    with file_errors(base):
        (base / _PARTIAL).mkdir(exist_ok=True)
    return _finish(named, parts, files, base, named.revision or BY_HAND, report)


def _finish(named: NamedSet, parts: Parts, files: Files, base: Path, revision: str, report: Report) -> Path:
    """Convert the downloads, write the manifest, and rename the set to its revision."""
    folder, target = base / _PARTIAL / "set", base / revision
    sources = _sources(named, parts, files)
    _remove(folder)
    with file_errors(folder):
        folder.mkdir()
    try:
        n_queries, n_left_out = convert(files["corpus"], files["queries"], files["qrels"], folder)
        contents = {name: _entry(folder / name) for name in (CORPUS, QUERIES, QRELS)}
        manifest: Json = {"name": named.name, "split": named.split, "sources": sources, "files": contents}
        with file_errors(folder):
            _write_json(folder / MANIFEST, {**manifest, "n_queries": n_queries, "n_queries_left_out": n_left_out})
            for name in (*contents, MANIFEST):
                _flush(folder / name)
            folder.rename(target)
    except BaseException:
        _remove(folder)
        raise
    _remove(base / _PARTIAL)
    report(f"{named.name}: {n_queries:,} queries ({n_left_out:,} without judgements left out) in {target}")
    return target


def _sources(named: NamedSet, parts: Parts, files: Files) -> Json:
    """Return the sources for the manifest: repositories with the files that were downloaded."""
    sources: dict[str, Json] = {}
    for part, (repo, paths) in parts.items():
        source = sources.setdefault(
            repo.name, {"revision": repo.commit, "licence": repo.licence or named.licence, "files": {}}
        )
        source["files"] |= {path: _entry(file) for path, file in zip(paths, files[part], strict=True)}
    return sources


def _entry(file: Path) -> dict[str, Json]:
    with file_errors(file):
        return vars(Pin(hash_file(file), file.stat().st_size))


def _advice(named: NamedSet, hub: Hub) -> str:
    """Return the advice for a machine without access to the hub."""
    revision, qrels_revision = named.revision or _BRANCH, named.qrels_revision or _BRANCH
    endings = ["-00000-of-00001.parquet"] * 3 if named.task else [".jsonl.gz", ".jsonl.gz", ".tsv"]
    paths = [f"{part}{ending}" for part, ending in zip(named.parts, endings, strict=True)]
    repositories = [(named.repo, revision), (named.repo, revision), (named.qrels_repo, qrels_revision)]
    addresses = [hub.address(*repo, path) for repo, path in zip(repositories, paths, strict=True)]
    folders = "the folders documents and examples of one folder" if named.task else "one folder"
    return (
        f"Try again later: the download resumes. Or download {', '.join(dict.fromkeys(addresses))} elsewhere, put "
        f"the files into {folders}, and run: python -m runner.datasets fetch {named.name} --from FOLDER"
    )


def _read_json(path: Path) -> Json:
    with file_errors(path):
        text = path.read_bytes()
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        raise DataError(f"{path}: is not JSON. Delete {path.parent} and fetch again.") from None


def _write_json(path: Path, value: Json) -> None:
    write_whole(path, (json.dumps(value, indent=2) + "\n").encode())


def _flush(path: Path) -> None:
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def _remove(folder: Path) -> None:
    with file_errors(folder):
        if folder.exists():
            shutil.rmtree(folder)
