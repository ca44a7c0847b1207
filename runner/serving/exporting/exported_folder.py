"""Writes an exported folder atomically."""

import logging
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from components.errors import DataError, StoreError
from components.secrets.known import find_variable
from components.secrets.names import KEY_SHAPE
from runner.engine.file_operations import exchange, link_or_copy
from runner.engine.plugins.plugin_loading import ensure_loaded, find_loaded
from runner.engine.plugins.snapshot import Snapshot, find_package_paths
from runner.engine.store import Store
from runner.engine.store.unfinished_exports import UnfinishedExport, exports_beside
from runner.results import open_samples
from runner.results.scored_samples import require_own_samples
from runner.serving.exporting.exported_cell import ExportedCell
from runner.serving.exporting.folder_readme import readme
from runner.serving.exporting.mlflow_model import write_model
from runner.serving.exporting.requirements import requirements
from runner.serving.folder_description import CHECK, CODE, PIPELINE, is_export, write_description
from runner.serving.replay_check import write_check

log = logging.getLogger(__name__)

_ASCII = re.compile(rb"[\t -~]{8,}")
_PACKAGES = ("components", "runner")
_LEFT_OUT_OF_OURS = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "demo_data", "demo_en_data", "exporting")

_SCRIPT = '''\
"""Answers questions as a cell of a sweep did: see README.md.

    python pipeline.py "a question"
    python pipeline.py --check
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER / {code!r}))  # the code that came with this folder, whatever else is installed

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.serving.pipeline_command", FOLDER)


from runner.serving.pipeline import Pipeline  # noqa: E402


def load_pipeline(folder: str | Path = FOLDER, *, trust: bool = False) -> Pipeline:
    """Load the pipeline: `load_pipeline().answer("a question")`. See README.md on trust=True."""
    from runner.serving.pipeline import load_pipeline as load

    return load(folder, trust=trust)
'''


def write_folder(cell: ExportedCell, out: Path) -> int:
    """Write the folder `out` atomically in the place of an earlier export, and return its size in bytes.

    If the system cannot swap two folders (`runner.engine.file_operations`), an earlier export is replaced in two steps.
    A process that is killed between them leaves none. The next export, or prune, restores the earlier one.

    If `out` is a link, the folder it names is written. Raises DataError if something else exists there, or if the
    samples belong to another cell, StoreError if it cannot be written.
    """
    require_own_samples(cell.result, cell.folder)
    try:
        out = out.resolve()
        if out.exists() and not is_export(out) and (not out.is_dir() or any(out.iterdir())):
            raise DataError(f"--out: {out} exists and is not an exported folder. Choose a new or empty folder.")
        with _replacing(out, cell.store) as folder:
            _write(cell, folder)
            return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    except OSError as error:
        file = f" ({error.filename})" if error.filename else ""
        raise StoreError(f"--out: cannot write {out}: {error.strerror or error}{file}") from error


@contextmanager
def _replacing(out: Path, store: Store) -> Iterator[Path]:
    """Yield a folder that replaces `out` once it is complete. Leftovers of killed exports are removed first."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for leftover in store.unfinished_exports.left():
        if store.unfinished_exports.remove(leftover):
            log.warning("removed %s, left over from a killed export", leftover.folder)
    for folder, store_root in exports_beside(out):
        log.warning("%s: %s", folder, _advice(store_root, store))
    with store.unfinished_exports.begin(out) as export:
        yield export.new
        _take_place(export)


def _advice(store_root: str, store: Store) -> str:
    if not store_root:
        return "belongs to an export by an earlier version. Remove it, unless that export is still running."
    if store_root == str(store.root):
        return "another export is writing it"
    command = shlex.join(["python", "-m", "runner.store", "--store-dir", store_root, "prune"])
    return f"belongs to an export from another store. If that export was killed, {command} removes it"


def _take_place(export: UnfinishedExport) -> None:
    """Replace the export, atomically if the system can swap folders. Otherwise a kill between two steps leaves no
    export.
    """
    if not export.out.exists():
        export.new.replace(export.out)
    elif not exchange(export.new, export.out):
        export.out.replace(export.old)
        export.new.replace(export.out)


def _write(cell: ExportedCell, folder: Path) -> None:
    with open_samples(cell.folder) as file:
        stored_samples = file.read(use_threads=False)
    pipeline = folder / PIPELINE
    pipeline.mkdir(parents=True)
    for files, entry in zip(cell.description.stage_files, cell.entries, strict=True):
        target = pipeline / files.folder
        target.mkdir(parents=True, exist_ok=True)
        for name in files.files:
            link_or_copy(entry.folder / name, target / name)
    for name, path in cell.models.items():
        shutil.copytree(path, pipeline / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    write_description(pipeline, cell.description)
    _copy_code(cell.description.plugins, folder / CODE)
    _warn_of_edits(cell.description.plugins, cell.sweep.started)
    needed = requirements(cell.parts, folder / CODE)
    (folder / "requirements.txt").write_text(needed.text, encoding="utf-8")
    write_model(folder, needed, cell.sweep.finished)
    write_check(folder / CHECK, cell.samples, stored_samples, cell.earlier)
    (folder / "pipeline.py").write_text(_SCRIPT.format(code=CODE.as_posix()), encoding="utf-8")
    (folder / "README.md").write_text(readme(cell), encoding="utf-8")


def _copy_code(plugins: Sequence[str], folder: Path) -> None:
    """Copy this project's packages, the plugins, and all other user code that these import.

    The code is copied, not required: neither the project nor custom packages are in a package index, and a fork may
    differ. Raises DataError for a plugin without files.
    """
    folder.mkdir(parents=True)
    root = Path(__file__).resolve().parents[3]
    if (root / "LICENSE").is_file():  # otherwise the project is installed, and its metadata include the license
        shutil.copyfile(root / "LICENSE", folder / "LICENSE")
    for name in _PACKAGES:
        shutil.copytree(root / name, folder / name, ignore=_LEFT_OUT_OF_OURS)
    ensure_loaded(plugins)
    for name, known in _snapshots(plugins).items():
        places = [place.absolute() for place in find_package_paths(name)]
        if not places:
            raise DataError(f"run.plugins: {name} has no files to copy, expected a package or a module in a file")
        # an installed package may have a folder of another name
        copies = {place: folder / name for place in places if place.is_dir()} | {
            place.parent: folder for place in places
        }
        for file in known.package_files(name).values():
            path = Path(os.path.normpath(file.path))
            above = next((each for each in copies if path.is_relative_to(each)), None)
            if above is None:
                log.warning(
                    "the export lacks %s, which its code reads, because the file is outside %s", path, places[0].parent
                )
            else:
                _copy_file(path, copies[above] / path.relative_to(above))


def _snapshots(plugins: Sequence[str]) -> dict[str, Snapshot]:
    """Return the snapshots that cover the plugins and all user code that they import, by top-level package."""
    loaded = [known for plugin in plugins if (known := find_loaded(plugin.partition(".")[0]))]
    return {name: known for known in loaded for name in known.packages}


def _warn_of_edits(plugins: Sequence[str], started: str) -> None:
    """Warn of code that was written after the sweep began: the sweep may have run earlier code."""
    start_ns = datetime.fromisoformat(started).timestamp() * 1e9
    files = [file for name, known in _snapshots(plugins).items() for file in known.package_files(name).values()]
    # a copied file may keep an old time of modification, but not of its last change of any kind
    changed_ns = {file.path: max(file.modified_ns, Path(file.path).stat().st_ctime_ns) for file in files}
    if edited := sorted(path for path, at_ns in changed_ns.items() if at_ns > start_ns):
        log.warning(
            "%s changed after the sweep began, so the export may answer unlike the sweep. Run the sweep again, "
            "or compare the answers with pipeline.py --check.",
            f"{edited[0]} was" if len(edited) == 1 else f"{edited[0]} and {len(edited) - 1:,} more files were",
        )


def _copy_file(path: Path, copy: Path) -> None:
    """Copy a user's file. Warns of text that looks like a key.

    Raises DataError if the file contains a secret of the environment, because an export is given away, and if another
    file was copied to this place.
    """
    contents = path.read_bytes()
    text = _text_in(contents)
    if name := find_variable(text):
        raise DataError(
            f"{path} contains the value of the environment variable {name}, which looks like a secret, and an export "
            "contains the code with its files. Let the code read the variable, or move the file out of its folder."
        )
    if KEY_SHAPE.search(text):
        log.warning(
            "%s contains text that looks like a key, and so does the export. Check it before you share it.", path
        )
    if copy.exists() and copy.read_bytes() != contents:
        raise DataError(
            f"{path}: it would overwrite another {copy.name} in the export, because code from two folders of "
            "sys.path, or of this project, is copied into one folder. Rename one of the two files."
        )
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, copy)


def _text_in(contents: bytes) -> str:
    """Return the text of a file. Of a binary file, or one in UTF-16, return text in ASCII, which is fast to search."""
    if b"\0" in contents:
        return b"\n".join(_ASCII.findall(contents.replace(b"\0", b""))).decode("ascii")
    return contents.decode(errors="replace")
