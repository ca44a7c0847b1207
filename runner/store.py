"""python -m runner.store ls | verify | prune: lists, checks and cleans up the store of stage results."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.store")


import argparse
import math
import os
import shutil
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from components.errors import ConfigError, MissingExtraError, StoreError
from components.limits import expected_one_of
from runner.console.command_parser import CommandParser, add_command
from runner.console.display import make_console, print_error
from runner.console.styled_text import count
from runner.engine.executors.leftovers import abandoned_probes
from runner.engine.store import Store, StoredResult, is_bucket
from runner.engine.store.bucket import bucket_command as in_bucket
from runner.engine.store.bucket.address import address_problems
from runner.engine.store.part_files import permission_advice
from runner.engine.store.replies import format_damaged_lines
from runner.engine.store.store_wording import format_damage_summary, format_size
from runner.engine.store.stored_blocks import damaged_blocks

_DAY_S = 86_400
_MINUTE_S = 60
_OF_KILLED_RUNS = "leftovers of killed runs"
_LEFT_IN = {
    "replies": "folders of replies (one per model and purpose)",
    "pair_scores": "folders of rerank scores",
    "workspaces": "unfinished stages",
}


def _ls(store: Store, console: Console) -> int:
    kinds: dict[str, list[StoredResult]] = defaultdict(list)
    for entry in store.entries():
        kinds[entry.manifest.kind].append(entry)
    table = Table("stage", "results", "partial", "size", "seconds to compute", title=str(store.root), box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, entries in sorted(kinds.items()):
        n_partial = sum(entry.manifest.partial for entry in entries)
        seconds = sum(entry.manifest.seconds for entry in entries)
        table.add_row(
            kind, str(len(entries)), str(n_partial), format_size(sum(e.n_bytes for e in entries)), f"{seconds:.1f}"
        )
    console.print(table)
    n_results, n_folders = sum(map(len, kinds.values())), len(_folders(store, "replies"))
    console.print(f"{count(n_results, 'result')}, replies in {count(n_folders, 'folder')} (one per model and purpose)")
    if unfinished := _folders(store, "workspaces"):
        console.print(f"{count(len(unfinished), 'unfinished stage')}, to be resumed")
    return 0


def _files(store: Store, folder: str) -> list[Path]:
    path = store.root / folder
    return sorted(path.iterdir()) if path.is_dir() else []


def _folders(store: Store, name: str) -> list[Path]:
    """Return the folders in a folder, without those of file managers and network drives."""
    return [path for path in _files(store, name) if path.is_dir() and path.name[0] not in ".@"]


@dataclass
class _Verification:
    """Damage that was found so far, and files that this user may not read, which may be intact."""

    console: Console
    delete: bool
    n_damaged: int = 0
    n_closed: int = 0

    def report(self, path: Path, line: str, remove: Callable[[], object], n: int = 1) -> None:
        """Print one finding and remove it if that was requested."""
        if _is_closed(path):
            self.report_closed(path)
            return
        self.n_damaged += n
        self.console.print(line, markup=False, soft_wrap=True)
        if self.delete:
            remove()

    def report_closed(self, path: Path) -> None:
        """Print that this user may not read a file or folder."""
        self.n_closed += 1
        self.console.print(f"cannot be read: {path}: Permission denied", markup=False, soft_wrap=True)


def _is_closed(path: Path) -> bool:
    """Return True if this user may not read a file, or a file in a folder."""
    files = [path, *path.iterdir()] if os.access(path, os.R_OK | os.X_OK) and path.is_dir() else [path]
    return any(each.exists() and not os.access(each, os.R_OK) for each in files)


def _verify(store: Store, console: Console, delete: bool) -> int:
    found, n_entries = _Verification(console, delete), 0
    for entry in store.entries():
        n_entries += 1
        if (damages := entry.damages()) and store.exists(entry):
            line = f"damaged: {entry.manifest.kind} {entry.manifest.key[:12]}: {'; '.join(damages)}"
            found.report(entry.folder, line, partial(store.discard, entry))
    for folder in store.folders_without_manifest():
        line = f"no readable manifest of this result: {folder}"
        found.report(folder, line, partial(store.discard_folder, folder))
    for name in ("pair_scores", "workspaces"):
        for block in damaged_blocks(store.root / name):
            line = f"damaged: {block} does not match its checksum"
            found.report(block, line, partial(block.unlink, missing_ok=True))
    for folder in _folders(store, "replies"):
        replies = store.replies(folder.name)
        for path, n_lines in replies.damaged_files().items():
            if n_lines is None:
                found.report_closed(path)
                continue
            line = f"damaged: {path}: {format_damaged_lines(n_lines)}"
            found.report(path, line, partial(replies.drop_damaged, [path]), n_lines)
    console.print(format_damage_summary(n_entries, found.n_damaged, delete))
    if found.n_closed:
        advice = permission_advice(store.root)
        console.print(f"{found.n_closed} could not be read. {advice}", markup=False, soft_wrap=True)
    return 1 if found.n_damaged and not delete else 2 if found.n_closed else 0


def _prune(store: Store, console: Console, older_than_days: float, stage: str, dry_run: bool) -> int:
    with nullcontext() if dry_run else store.leases.pruning():
        return _prune_unleased(store, console, older_than_days, stage, dry_run)


def _prune_unleased(store: Store, console: Console, older_than_days: float, stage: str, dry_run: bool) -> int:
    now = time.time()
    before = now - older_than_days * _DAY_S
    leased = store.leases.live_leases()
    old = [
        entry
        for entry in store.entries()
        if min(entry.manifest.created, now) <= before and (not stage or entry.manifest.kind == stage)
    ]
    chosen = [entry for entry in old if not leased.has(entry.manifest.key)]
    size = format_size(sum(entry.n_bytes for entry in chosen))
    # Replies, scores of pairs and unfinished work do not record which sweep needs them.
    leftovers = {} if leased.n_runs else _leftovers(store, before, stage)
    if leased.n_runs:
        is_one = leased.n_runs == 1
        running, needs = ("a sweep is", "it needs") if is_one else (f"{leased.n_runs:,} sweeps are", "they need")
        console.print(
            f"{running} running, so prune keeps {len(old) - len(chosen)} results that {needs}, all replies, all scores "
            "of pairs and all unfinished work"
        )
    exports = store.unfinished_exports.left()
    for half in exports:
        size_of_half = f"{format_size(half.n_bytes)}, including files shared with the store"
        console.print(f"left by a killed export: {half.folder} ({size_of_half})", markup=False, soft_wrap=True)
    n_left = sum(what == _OF_KILLED_RUNS for what in leftovers.values()) + len(exports)
    others = "".join(
        f", {n} {what}" for what, n in sorted(Counter(leftovers.values()).items()) if what != _OF_KILLED_RUNS
    )
    summary = f"{len(chosen)} results, {size}{others}, and {n_left} {_OF_KILLED_RUNS}"
    if dry_run:
        console.print(f"would remove {summary}")
        return 0
    for half in exports:
        store.unfinished_exports.remove(half)
    store.writers.remove_dead_heartbeats()
    for entry in chosen:
        store.discard(entry)
    for path in leftovers:
        _remove(store, path)
    console.print(f"removed {summary}")
    return 0


def _leftovers(store: Store, before: float, stage: str) -> dict[Path, str]:
    """Return the data that no run needs, or that may be deleted by age, with words for its kind."""
    temporary = [*_files(store, "tmp"), *store.find_half_written(), *store.abandoned_locks()]
    # A process may leave its file unchanged for hours before it renames it.
    age_s = _DAY_S if store.writers.has_others() else _MINUTE_S
    leftovers = [path for path in temporary if _last_changed(path) < time.time() - age_s]
    # Probes of processes that have ended are deleted at any age.
    found = dict.fromkeys([*leftovers, *abandoned_probes(store)], _OF_KILLED_RUNS)
    # Replies cost money, so they are deleted only if `stage` names them. Cheap leftovers are deleted by age.
    for folder in ("replies",) if stage == "replies" else () if stage else ("workspaces", "pair_scores"):
        found |= {path: _LEFT_IN[folder] for path in _folders(store, folder) if _last_changed(path) <= before}
    return found


def _last_changed(path: Path) -> float:
    """Return the time of the last change of a file, or of a folder and its content.

    Appending to a file does not change its folder. Returns infinity for a path that another process deleted.
    """
    try:
        paths = [path, *path.iterdir()] if path.is_dir() and not path.is_symlink() else [path]
        return max(each.lstat().st_mtime for each in paths)
    except FileNotFoundError:
        return math.inf


def _remove(store: Store, path: Path) -> None:
    """Delete a path atomically: a process that uses the folder now sees either all of it or nothing."""
    removed = store.root / "tmp" / uuid.uuid4().hex
    with suppress(FileNotFoundError):  # another process may be pruning
        path.rename(removed)
        shutil.rmtree(removed) if removed.is_dir() and not removed.is_symlink() else removed.unlink()


def _parser() -> argparse.ArgumentParser:
    page = "docs/run-settings.md"
    parser = CommandParser(
        prog="python -m runner.store",
        description="List, check and clean up the store of stage results.",
        example="python -m runner.store --store-dir s3://bucket/prefix ls",
        page=page,
    )
    parser.add_argument(
        "--store-dir",
        default="results/store",
        metavar="STORE",
        help="run.store_dir: a folder, or a bucket (default: %(default)s)",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    add_command(commands, "ls", "list cached results, by stage", example="python -m runner.store ls", page=page)
    purpose = "compare every file with its checksum; exit code 1 if one is damaged, 2 if one cannot be read"
    verify = add_command(commands, "verify", purpose, example="python -m runner.store verify --delete", page=page)
    verify.add_argument("--delete", action="store_true", help="remove damaged results")
    prune = add_command(
        commands,
        "prune",
        "remove results by age or stage, and leftovers of killed runs; in a bucket, merge small reply objects",
        example="python -m runner.store prune --older-than-days 30 --dry-run",
        page=page,
    )
    prune.add_argument(
        "--older-than-days",
        type=float,
        default=30.0,
        metavar="DAYS",
        help="only results at least this old, from any sweep (default: %(default)g; 0 for all)",
    )
    prune.add_argument(
        "--stage",
        default="",
        metavar="KIND",
        help="only results of this kind of stage, e.g. vectors, or replies for the stored answers of models",
    )
    prune.add_argument("--dry-run", action="store_true", help="only report what would be deleted")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 is success. 1 means that `verify` found damage and did not delete it. 2 follows one clear message if the store is
    missing, or if it or one of its files cannot be read or changed.
    """
    options = _parser().parse_args(arguments)
    console = make_console()
    store_dir = Path(options.store_dir)
    try:
        if problems := address_problems(options.store_dir):
            raise ConfigError([f"--store-dir: {problem}" for problem in problems])
        if is_bucket(options.store_dir):
            return in_bucket.run(options, console)
        if not (store_dir / "store.json").is_file():
            raise StoreError(f"{store_dir}: this folder is not a store. Pass one with --store-dir.")
        store = Store(store_dir, may_write=_deletes(options))
        store.refuse_links()
        return _run(options, store, console)
    except (ConfigError, MissingExtraError, StoreError) as error:
        print_error(error)
    except OSError as error:
        path = error.filename or store_dir
        print_error(f"{path}: {error.strerror or error}. Run the command as a user who may read and change the store.")
    return 2


def _deletes(options: argparse.Namespace) -> bool:
    """Return True if the command deletes anything."""
    return options.delete if options.command == "verify" else options.command == "prune" and not options.dry_run


def _run(options: argparse.Namespace, store: Store, console: Console) -> int:
    if options.command == "ls":
        return _ls(store, console)
    if options.command == "verify":
        return _verify(store, console, options.delete)
    kinds = {path.name for path in _folders(store, "entries")} | {"replies"}
    if options.stage and options.stage not in kinds:
        print_error(f"--stage: got {options.stage!r}{expected_one_of(options.stage, sorted(kinds))}")
        return 2
    return _prune(store, console, options.older_than_days, options.stage, options.dry_run)
