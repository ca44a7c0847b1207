"""The last lines of a sweep: where its results are, and what to do with them."""

import shlex
from collections.abc import Iterator

from rich.markup import escape

from runner.output.tracking import SafeTracker, where_to_look


def tracking_lines(tracker: SafeTracker, folder: str) -> Iterator[str]:
    """Where MLflow shows a sweep that was logged, or how to log it later. `folder` is the sweep's, for a shell."""
    if tracker.error:
        yield (
            f"[red]MLflow failed[/] ({escape(tracker.error)}); nothing is lost, log it later with: "
            f"python -m runner.track {escape(folder)} --uri {escape(shlex.quote(tracker.uri))}"
        )
    elif tracker.enabled:
        yield f"MLflow:   {escape(where_to_look(tracker.uri, tracker.page))}"
        if tracker.samples:
            yield escape(tracker.samples)


def next_lines(tracker: SafeTracker, folder: str, *, has_report: bool) -> Iterator[str]:
    """What was not done because it takes a while."""
    commands = {
        f"python -m analysis report {folder}": "" if has_report else "what to take for which task, why, where it fails",
        f"python -m runner.track {folder} --traces 100": ""
        if tracker.error or tracker.samples or not tracker.enabled
        else "samples step by step, in MLflow",
    }
    wanted = {command: what for command, what in commands.items() if what}
    width = max(map(len, wanted), default=0)
    for number, (command, what) in enumerate(wanted.items()):
        yield f"{'' if number else 'next:':<9} {escape(command.ljust(width))}   # {what}"
