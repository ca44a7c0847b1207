"""python -m runner.annotate: lets people check, correct and rate the questions of a test set."""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.annotate")


import argparse
from enum import StrEnum
from pathlib import Path

from components.errors import RagGridError
from runner.console.command_parser import CommandParser, add_command
from runner.console.display import print_error
from runner.testset.annotating.annotation_choices import THRESHOLDS, AnnotationFormat, AnnotatorFrom, Language

_COMMAND = "python -m runner.annotate"
_PAGE = "docs/annotation.md"
_COMMANDS = (
    ("export", "write tasks for Label Studio, or a sheet for each annotator", "my_set --to tasks.json"),
    (
        "import",
        "turn corrections by annotators into a new version; exit code 1 for conflicts or removed samples",
        "my_set ann.csv bob.csv --out my_set_2",
    ),
    ("agree", "measure the agreement of annotators", "my_set ann.csv bob.csv"),
    ("accept", "show the share of the set that annotators accept, by topic and task", "my_set ann.csv bob.csv --at 4"),
    (
        "split",
        "divide the set so that no parts share a gold document or a conversation",
        "my_set --sizes train=5 dev=1 test=4 --out parts",
    ),
)
"""Name, purpose and example of each command."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 is success, also for an import that was finished before and would write the same files. 1 means that an import
    left something unchanged or removed a sample. 2 follows one clear message if some input cannot be used; nothing was
    written then.
    """
    options = _parser().parse_args(arguments)
    from runner.testset.annotating.annotate_command import run  # --help does not need this import

    try:
        return run(options)
    except RagGridError as error:
        print_error(error)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=_COMMAND,
        description="Let people check, correct and rate the questions of a test set.",
        example=f"{_COMMAND} export my_set --to tasks.json",
        page=_PAGE,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    added = {
        name: add_command(commands, name, purpose, example=f"{_COMMAND} {name} {example}", page=_PAGE)
        for name, purpose, example in _COMMANDS
    }
    export, into, agree, accept, parts = added.values()
    for command in added.values():
        command.add_argument("folder", type=Path, metavar="FOLDER", help="folder of a test set")
    for command in (into, agree, accept):
        command.add_argument(
            "files", type=Path, nargs="+", metavar="FILE", help="annotations: Label Studio's .json, or sheets (.csv)"
        )
        _add_choices(
            command,
            "--annotator-from",
            AnnotatorFrom,
            AnnotatorFrom.COMPLETED_BY,
            "source of annotators' names: Label Studio's `completed_by`, or the file's name",
        )
    export.add_argument(
        "--to",
        type=Path,
        required=True,
        metavar="FILE",
        help="write the tasks to this file, and the labelling configuration next to it",
    )
    _add_choices(export, "--format", AnnotationFormat, AnnotationFormat.LABEL_STUDIO, "format of the file")
    export.add_argument(
        "--per-cell",
        type=int,
        metavar="N",
        help="number of samples for each topic and task (default: all)",
    )
    export.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed for drawing samples (default: %(default)s)"
    )
    _add_choices(
        export, "--language", Language, None, "language of the instructions (default: the language of the questions)"
    )
    into.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="new folder for the corrected set")
    into.add_argument(
        "--prefer", metavar="ANNOTATOR", help="annotator whose annotation decides where annotators disagree"
    )
    agree.add_argument("--json", type=Path, metavar="FILE", help="write the whole agreement record to this file")
    accept.add_argument("--csv", type=Path, metavar="FILE", help="write the table to this file")
    accept.add_argument("--write", type=Path, metavar="FOLDER", help="a new folder for the accepted samples")
    accept.add_argument(
        "--at",
        type=int,
        choices=THRESHOLDS,
        default=THRESHOLDS[0],
        help="lowest rating that counts as accepted (default: %(default)s)",
    )
    parts.add_argument(
        "--sizes",
        nargs="+",
        required=True,
        metavar="NAME=SHARE",
        help="relative sizes of the parts, e.g. train=5 dev=1 test=4",
    )
    parts.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the order of groups of equal size (default: %(default)s)",
    )
    parts.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="a folder for the parts, each in a subfolder of its name",
    )
    return parser


def _add_choices(
    command: argparse.ArgumentParser, name: str, choices: type[StrEnum], default: StrEnum | None, text: str
) -> None:
    default_note = "" if default is None else f" (default: {default})"
    command.add_argument(name, type=choices, choices=list(choices), default=default, help=text + default_note)
