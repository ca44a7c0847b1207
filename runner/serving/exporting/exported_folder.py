"""Writes an exported folder atomically."""

import logging
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from components.errors import DataError, StoreError
from runner.engine.file_operations import exchange, link_or_copy
from runner.engine.plugins.plugin_loading import find_loaded
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

_PACKAGES = ("components", "runner")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
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

    A link stays, and the folder that it names is written. Raises DataError if something else exists there, or if the
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
            log.warning("removed %s, which a killed export left", leftover.folder)
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
    for plugin in dict.fromkeys(plugin.partition(".")[0] for plugin in plugins):
        known = find_loaded(plugin)
        for name in dict.fromkeys([plugin, *(known.packages if known else ())]):
            roots = _copy_package(name, folder)
            for file in known.files_of(name) if known else ():
                _copy_named(Path(file.path), roots, folder)


def _copy_named(path: Path, roots: Sequence[Path], folder: Path) -> None:
    """Copy a file that code names to the same place relative to the code."""
    real = path.resolve()
    root = next((root for root in roots if real.is_relative_to(root.resolve())), None)
    if root is None:
        log.warning("the export lacks %s, which its code reads: the file is not below %s", path, roots[0])
    elif not (copy := folder / real.relative_to(root.resolve())).exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def _copy_package(name: str, folder: Path) -> list[Path]:
    """Copy a package or module, and return the folders that contain it."""
    module = import_module(name)
    paths = [Path(path) for path in getattr(module, "__path__", ())]
    file = Path(getattr(module, "__file__", None) or "")
    if not paths and not file.is_file():
        raise DataError(f"run.plugins: {name} has no files to copy, expected a package or a module in a file")
    for path in paths:
        shutil.copytree(path, folder / name, ignore=_LEFT_OUT, dirs_exist_ok=True)
    if not paths:
        shutil.copyfile(file, folder / file.name)
    return [path.parent for path in paths or [file]]
