"""Commands on a store in a bucket."""

import argparse
from collections import defaultdict
from datetime import timedelta

from rich.console import Console
from rich.table import Table

from components.errors import StoreError
from components.limits import expected_one_of
from runner.console.display import print_error
from runner.console.styled_text import count
from runner.engine.store.bucket.maintenance import BucketMaintenance, BucketResult
from runner.engine.store.bucket.objects import ObjectInfo, Objects
from runner.engine.store.replies import format_damaged_lines
from runner.engine.store.store_wording import format_damage_summary, format_size


def run(options: argparse.Namespace, console: Console) -> int:
    """Run one command and return its exit code.

    Raises MissingExtraError without obstore, and StoreError if the bucket cannot be reached or has no store.
    """
    objects = Objects(options.store_dir, patience_s=10.0)
    if objects.head("store.json") is None:
        raise StoreError(f"{options.store_dir}: this prefix is not a store. Pass one with --store-dir.")
    maintenance = BucketMaintenance(objects)
    if options.command == "ls":
        return _ls(maintenance, options.store_dir, console)
    if options.command == "verify":
        return _verify(maintenance, console, options.delete)
    return _prune(maintenance, console, options)


def _ls(maintenance: BucketMaintenance, title: str, console: Console) -> int:
    results = maintenance.results()
    kinds: dict[str, list[tuple[BucketResult, float]]] = defaultdict(list)
    for result, seconds in zip(results, maintenance.seconds(results), strict=True):
        kinds[result.kind].append((result, seconds))
    table = Table("stage", "results", "partial", "size", "seconds to compute", title=title, box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, entries in sorted(kinds.items()):
        n_partial = sum(result.is_partial for result, _ in entries)
        n_bytes = sum(result.n_bytes for result, _ in entries)
        total_s = sum(seconds for _, seconds in entries)
        table.add_row(kind, str(len(entries)), str(n_partial), format_size(n_bytes), f"{total_s:.1f}")
    console.print(table)
    n_purposes = len({each.path.split("/")[1] for each in maintenance.replies()})
    console.print(
        f"{count(len(results), 'result')}, replies in {count(n_purposes, 'folder')} (one per model and purpose)"
    )
    return 0


def _verify(maintenance: BucketMaintenance, console: Console, delete: bool) -> int:
    results = maintenance.results()
    damaged = [(result, damage) for result, damage in zip(results, maintenance.damages(results), strict=True) if damage]
    for result, damage in damaged:
        console.print(f"damaged: {result.kind} {result.key[:12]}: {damage}")
    replies = maintenance.damaged_replies()
    for each, n_lines in replies.items():
        console.print(f"damaged: {each.path}: {format_damaged_lines(n_lines)}", markup=False, soft_wrap=True)
    pair_scores = maintenance.damaged_pair_scores()
    for each in pair_scores:
        console.print(f"damaged: {each.path} does not match its checksum", markup=False, soft_wrap=True)
    if delete:
        maintenance.remove((result for result, _ in damaged), pair_scores)
        maintenance.drop_damaged(replies)
    n_damaged = len(damaged) + sum(replies.values()) + len(pair_scores)
    console.print(format_damage_summary(len(results), n_damaged, delete))
    return 1 if n_damaged and not delete else 0


def _prune(maintenance: BucketMaintenance, console: Console, options: argparse.Namespace) -> int:
    results = maintenance.results()
    kinds = {result.kind for result in results} | {"replies"}
    if options.stage and options.stage not in kinds:
        print_error(f"--stage: got {options.stage!r}{expected_one_of(options.stage, sorted(kinds))}")
        return 2
    cutoff = maintenance.now - timedelta(days=options.older_than_days)
    leased = maintenance.list_leased()
    old_results = [result for result in results if result.modified <= cutoff and options.stage in ("", result.kind)]
    chosen = [result for result in old_results if not leased.has(result.key)]
    leftovers = maintenance.leftovers(results)
    if leased.n_runs:
        is_one = leased.n_runs == 1
        running, needs = ("a sweep is", "it needs") if is_one else (f"{leased.n_runs:,} sweeps are", "they need")
        console.print(
            f"{running} running, so prune keeps {len(old_results) - len(chosen)} results that {needs}, all replies and "
            "all scores of pairs"
        )
    else:
        leftovers += [each for each in _prunable_by_age(maintenance, options.stage) if each.modified <= cutoff]
    size = format_size(sum(result.n_bytes for result in chosen))
    summary = f"{len(chosen)} results, {size}, and {len(leftovers)} leftovers"
    groups = [] if options.stage else maintenance.mergeable_replies()
    merged = f"{sum(len(group) for _, group in groups)} reply objects into {len(groups)}"
    if options.dry_run:
        console.print(f"would remove {summary}{f'; would merge {merged}' if groups else ''}")
        return 0
    maintenance.remove(chosen, leftovers)
    maintenance.merge(groups)
    console.print(f"removed {summary}{f'; merged {merged}' if groups else ''}")
    return 0


def _prunable_by_age(maintenance: BucketMaintenance, stage: str) -> list[ObjectInfo]:
    """Return the objects that are pruned by age.

    Paid replies are pruned only if they are named. Scores, which are quick to compute again, are pruned by age alone.
    """
    if stage:
        return maintenance.replies() if stage == "replies" else []
    return maintenance.pair_scores()
