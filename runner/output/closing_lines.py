"""The last lines of a sweep: where its results are, and what to do with them."""

import shlex
from collections.abc import Iterator

from rich.markup import escape

from runner.output.tracking import SafeTracker, where_to_look


def tracking_lines(tracker: SafeTracker, folder: str) -> Iterator[str]:
    """Yield lines that say where MLflow shows a logged sweep, or how to log it later.

    `folder` is the sweep's folder, quoted for a shell.
    """
    if tracker.error:
        yield (
            f"[red]MLflow failed[/] ({escape(tracker.error)}); the results are complete. Log them later with: python "
            f"-m runner.track {escape(folder)} --uri {escape(shlex.quote(tracker.uri))}"
        )
    elif tracker.enabled:
        yield f"MLflow:   {escape(where_to_look(tracker.uri, tracker.page))}"
        if tracker.samples:
            yield escape(tracker.samples)


def next_lines(tracker: SafeTracker, folder: str, *, has_report: bool) -> Iterator[str]:
    """Yield commands for work that the sweep left out because it takes a while, each with its purpose."""
    purposes: dict[str, str] = {}
    if not has_report:
        purposes[f"python -m analysis report {folder}"] = "which cell to take for each task, why, and where it fails"
    if tracker.enabled and not tracker.error and not tracker.samples:
        purposes[f"python -m runner.track {folder} --traces 100"] = "samples step by step, in MLflow"
    width = max(map(len, purposes), default=0)
    for number, (command, purpose) in enumerate(purposes.items()):
        yield f"{'' if number else 'next:':<9} {escape(command.ljust(width))}   # {purpose}"
