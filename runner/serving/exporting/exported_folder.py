"""Writing an exported folder: whole or not at all."""

import logging
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.errors import DataError, StoreError
from runner.engine.file_operations import exchange, link_or_copy
from runner.engine.store import Store
from runner.engine.store.half_exports import HalfExport, unfinished_beside
from runner.results import open_samples
from runner.serving.exporting.exported_cell import ExportedCell
from runner.serving.exporting.exported_code import copy_code
from runner.serving.exporting.folder_readme import readme
from runner.serving.exporting.mlflow_model import write_model
from runner.serving.exporting.requirements import requirements
from runner.serving.folder_description import CHECK, CODE, PIPELINE, is_export, write_description
from runner.serving.replay_check import write_check

log = logging.getLogger(__name__)

_SCRIPT = '''\
"""Answers questions as a cell of a sweep did: README.md says which one.

    python pipeline.py "a question"
    python pipeline.py --check
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER / {code!r}))  # the code that came with this folder, whatever else is installed

if __name__ == "__main__":  # before the imports, which take time and may be interrupted, too
    from runner.console.interruptible import run_main

    run_main("runner.serving.pipeline_command", FOLDER)


from runner.serving.pipeline import Pipeline  # noqa: E402


def load_pipeline(folder: str | Path = FOLDER, *, trust: bool = False) -> Pipeline:
    """The pipeline, for programs: `load_pipeline().answer("a question")`. README.md says if it wants trust=True."""
    from runner.serving.pipeline import load_pipeline as load

    return load(folder, trust=trust)
'''


def write_folder(cell: ExportedCell, out: Path) -> int:
    """Writes the folder `out` in one step, in the place of an earlier export; returns its size in bytes.

    Where the system cannot swap two folders (`runner.engine.file_operations`) an earlier export is replaced in two
    steps. A process that is killed between them leaves none; the next export, and prune, put the earlier one back.

    A link stays, and the folder that it names is written. Raises DataError if something else is there, StoreError if it
    cannot be written.
    """
    out = out.resolve()
    if out.exists() and not is_export(out) and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"--out: {out} is there, and no exported folder; name one that is new or empty")
    try:
        with _in_place_of(out, cell.store) as folder:
            _write(cell, folder)
            return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    except OSError as error:
        raise StoreError(f"--out: cannot write {out}: {error.strerror or error} ({error.filename})") from error


@contextmanager
def _in_place_of(out: Path, store: Store) -> Iterator[Path]:
    """A folder that takes the place of `out` once it is whole. Leftovers of killed exports are removed first."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for left in store.half_exports.left():
        if store.half_exports.remove(left):
            log.warning("removed %s, which a killed export left", left.folder)
    for folder, of_store in unfinished_beside(out):
        log.warning("%s: %s", folder, _advice(of_store, store))
    with store.half_exports.begin(out) as half:
        yield half.new
        _take_place(half)


def _advice(of_store: str, store: Store) -> str:
    if not of_store:
        return "an export by an earlier version left it; remove it unless that still runs"
    if of_store == str(store.root):
        return "another export writes it"
    command = shlex.join(["python", "-m", "runner.store", "--store-dir", of_store, "prune"])
    return f"an export from another store writes or left it; {command} removes it if that was killed"


def _take_place(half: HalfExport) -> None:
    """In one step where the system has one; else in two, between which a kill leaves no export at its place."""
    if not half.out.exists():
        half.new.replace(half.out)
    elif not exchange(half.new, half.out):
        half.out.replace(half.old)
        half.new.replace(half.out)


def _write(cell: ExportedCell, folder: Path) -> None:
    with open_samples(cell.folder) as file:
        kept_samples = file.read(use_threads=False)
    pipeline = folder / PIPELINE
    pipeline.mkdir(parents=True)
    for files, entry in zip(cell.description.kept, cell.entries, strict=True):
        place = pipeline / files.folder
        place.mkdir(parents=True, exist_ok=True)
        for name in files.files:
            link_or_copy(entry.folder / name, place / name)
    for name, path in cell.models.items():
        shutil.copytree(path, pipeline / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    write_description(pipeline, cell.description)
    copy_code(cell.description.plugins, folder / CODE)
    needed = requirements(cell.parts, folder / CODE)
    (folder / "requirements.txt").write_text(needed.text, encoding="utf-8")
    write_model(folder, needed, cell.sweep.finished)
    write_check(folder / CHECK, cell.samples, kept_samples, cell.earlier)
    (folder / "pipeline.py").write_text(_SCRIPT.format(code=CODE.as_posix()), encoding="utf-8")
    (folder / "README.md").write_text(readme(cell), encoding="utf-8")
