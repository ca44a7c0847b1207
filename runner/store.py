"""python -m runner.store ls | verify | prune"""

if __name__ == "__main__":  # before the imports, which take time and may be interrupted, too
    from runner.console.interruptible import run_main

    run_main("runner.store")


import argparse
import math
import shutil
import time
import uuid
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table

from components.errors import ConfigError, MissingExtraError, StoreError
from runner.console.command_parser import CommandParser
from runner.console.display import make_console, say_error
from runner.engine.executors.leftovers import left_probes
from runner.engine.store import Store, StoredResult, is_bucket
from runner.engine.store.bucket import bucket_command as in_bucket
from runner.engine.store.bucket.address import address_mistakes
from runner.engine.store.damage import shown_damage
from runner.engine.store.sizes import shown_size
from runner.engine.store.stored_blocks import damaged_blocks

_DAY_S = 86_400


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
            kind, str(len(entries)), str(n_partial), shown_size(sum(e.n_bytes for e in entries)), f"{seconds:.1f}"
        )
    console.print(table)
    n_results = sum(map(len, kinds.values()))
    console.print(f"{n_results} results, replies of {len(_files(store, 'replies'))} models and purposes")
    if unfinished := _files(store, "workspaces"):
        console.print(f"{len(unfinished)} unfinished stages, which go on where they were")
    return 0


def _files(store: Store, folder: str) -> list[Path]:
    path = store.root / folder
    return sorted(path.iterdir()) if path.is_dir() else []


def _verify(store: Store, console: Console, delete: bool) -> int:
    n_damaged = n_entries = 0
    for entry in store.entries():
        n_entries += 1
        if (found := entry.damages()) and store.is_there(entry):
            n_damaged += 1
            console.print(f"damaged: {entry.manifest.kind} {entry.manifest.key[:12]}: {'; '.join(found)}")
            if delete:
                store.discard(entry)
    for folder in store.folders_without_manifest():
        n_damaged += 1
        console.print(f"no manifest: {folder}")
        if delete:
            store.discard_folder(folder)
    for name in ("pair_scores", "workspaces"):
        for block in damaged_blocks(store.root / name):
            n_damaged += 1
            console.print(f"damaged: {block} does not match its checksum")
            if delete:
                block.unlink(missing_ok=True)
    console.print(shown_damage(n_entries, n_damaged, delete))
    return 1 if n_damaged and not delete else 0


def _prune(store: Store, console: Console, older_than_days: float, stage: str, dry_run: bool) -> int:
    now = time.time()
    before = now - older_than_days * _DAY_S
    leased = store.leases.of_live_runs()
    old = [
        entry
        for entry in store.entries()
        if min(entry.manifest.created, now) <= before and (not stage or entry.manifest.kind == stage)
    ]
    chosen = [entry for entry in old if entry.manifest.key not in leased.keys]
    size = shown_size(sum(entry.n_bytes for entry in chosen))
    # Replies, scores of pairs and half-done work do not say which sweep needs them.
    leftovers = [] if leased.n_runs else _leftovers(store, before, stage)
    if leased.n_runs:
        running = "a sweep is" if leased.n_runs == 1 else f"{leased.n_runs} sweeps are"
        console.print(
            f"{running} running: {len(old) - len(chosen)} results that it needs are kept, and so are all replies, "
            "scores of pairs and half-done work"
        )
    exports = store.half_exports.left()
    for half in exports:
        size_of_half = f"{shown_size(half.n_bytes)}, those that it shares with the store among them"
        console.print(f"left by a killed export: {half.folder} ({size_of_half})", markup=False, soft_wrap=True)
    n_left = f"{len(leftovers) + len(exports)} leftovers of killed runs"
    if dry_run:
        console.print(f"would remove {len(chosen)} results, {size}, and {n_left}")
        return 0
    for half in exports:
        store.half_exports.remove(half)
    store.writers.clear_away()
    for entry in chosen:
        store.discard(entry)
    for path in leftovers:
        _remove(store, path)
    console.print(f"removed {len(chosen)} results, {size}, and {n_left}")
    return 0


def _leftovers(store: Store, before: float, stage: str) -> list[Path]:
    kept_a_day = [*_files(store, "tmp"), *store.left_locks()]
    leftovers = [path for path in kept_a_day if _last_changed(path) < time.time() - _DAY_S]
    leftovers += [probe for probe in left_probes(store) if probe not in leftovers]  # known to be nobody's at once
    # What was paid for goes only when it is named; what can be had again for a moment's work goes by age.
    for folder in ("replies",) if stage == "replies" else () if stage else ("workspaces", "pair_scores"):
        leftovers += [path for path in _files(store, folder) if _last_changed(path) <= before]
    return leftovers


def _last_changed(path: Path) -> float:
    """Of a file, or of a folder and what is in it (what is appended to a file changes that alone); infinity for what is
    gone, since others may be pruning.
    """
    try:
        paths = [path, *path.iterdir()] if path.is_dir() and not path.is_symlink() else [path]
        return max(each.lstat().st_mtime for each in paths)
    except FileNotFoundError:
        return math.inf


def _remove(store: Store, path: Path) -> None:
    """In one step: whoever works in the folder at this moment finds all of it or nothing."""
    removed = store.root / "tmp" / uuid.uuid4().hex
    with suppress(FileNotFoundError):  # others may be pruning
        path.rename(removed)
        shutil.rmtree(removed) if removed.is_dir() and not removed.is_symlink() else removed.unlink()


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="python -m runner.store", description="Looks after the store of stage results.")
    parser.add_argument(
        "--store-dir", default="results/store", help="run.store_dir: a folder, or a bucket (default: %(default)s)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("ls", help="what is kept, by stage")
    verify = commands.add_parser("verify", help="compare every file with its checksum; exit code 1 if one is damaged")
    verify.add_argument("--delete", action="store_true", help="remove damaged results")
    prune = commands.add_parser(
        "prune",
        help="remove results by age or stage and what killed runs left; merge small objects of replies in a bucket",
    )
    prune.add_argument("--older-than-days", type=float, default=30.0, help="default: %(default)s; 0 for all")
    prune.add_argument(
        "--stage", default="", help="only results of this stage, e.g. vectors, or replies: what models answered"
    )
    prune.add_argument("--dry-run", action="store_true", help="say what would go")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns its exit code (2 for a store that is not there, or cannot be read or changed)."""
    options = _parser().parse_args(arguments)
    console = make_console()
    store_dir = Path(options.store_dir)
    try:
        if mistakes := address_mistakes(options.store_dir):
            raise ConfigError([f"--store-dir: {mistake}" for mistake in mistakes])
        if is_bucket(options.store_dir):
            return in_bucket.run(options, console)
        if not (store_dir / "store.json").is_file():
            raise StoreError(f"{store_dir}: no store here; name one with --store-dir")
        store = Store(store_dir, may_write=_changes(options))
        store.refuse_links()
        return _run(options, store, console)
    except (ConfigError, MissingExtraError, StoreError) as error:
        say_error(error)
    except OSError as error:
        place = error.filename or store_dir
        say_error(f"{place}: {error.strerror or error}; give the command as a user who may read and change the store")
    return 2


def _changes(options: argparse.Namespace) -> bool:
    """Return whether the command removes anything."""
    return options.delete if options.command == "verify" else options.command == "prune" and not options.dry_run


def _run(options: argparse.Namespace, store: Store, console: Console) -> int:
    if options.command == "ls":
        return _ls(store, console)
    if options.command == "verify":
        return _verify(store, console, options.delete)
    known = {path.name for path in _files(store, "entries")} | {"replies"}
    if options.stage and options.stage not in known:
        say_error(f"--stage: got {options.stage!r}, kept are {', '.join(sorted(known))}")
        return 2
    return _prune(store, console, options.older_than_days, options.stage, options.dry_run)
