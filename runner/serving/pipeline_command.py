"""`python DIR/pipeline.py`: answers a question on the command line, or runs --check."""

import argparse
import json
from pathlib import Path

from components.datasets.data_files import parse_user_json
from components.errors import DataError, RagGridError
from components.json_value import Json
from components.records import Kind
from components.secrets.mask import shortened_value
from runner.console.command_parser import CommandParser
from runner.console.display import print_error, say
from runner.serving.asked_question import Question
from runner.serving.folder_description import CHECK
from runner.serving.pipeline import Pipeline, load_pipeline
from runner.serving.replay_check import ReplayReport, check
from runner.serving.retrieved_passages import Passage

_N_SHOWN = 5
_MAX_NAME_CHARACTERS = 200
_WIDTH = 300
"""Number of characters of a passage that are shown."""


def main(folder: Path, arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 if a check found differences, 2 after one clear message for
    invalid input.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.check == (options.question is not None):
            raise DataError('expected a question, as in `python pipeline.py "..."`, or --check')
        if options.limit is not None and options.limit < 1:
            raise DataError(f"--limit: got {options.limit}, expected at least 1 question")
        pipeline = load_pipeline(folder, trust=options.trust)
        if options.check:
            return _show_check(pipeline, check(pipeline, folder / CHECK, options.limit))
        _answer(pipeline, options)
    except RagGridError as error:
        print_error(error)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        description="Answer a question as the exported cell does, and show the passages that it read.",
        example='python pipeline.py "Who signed the contract?"',
        page="docs/export.md",
    )
    parser.add_argument("question", nargs="?", help="the question to answer")
    parser.add_argument("--check", action="store_true", help="answer the sweep's questions again, and compare")
    parser.add_argument(
        "--trust", action="store_true", help="run the programs and custom packages that the folder names"
    )
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help="with --check: number of questions, spread over the benchmark (default: all)",
    )
    parser.add_argument(
        "--search", action="store_true", help="only search: show the passages, without a request to a language model"
    )
    parser.add_argument(
        "--n", type=int, metavar="N", help="with --search: number of passages (default: as many as in a prompt)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--kind",
        choices=[kind.value for kind in Kind],
        metavar="KIND",
        help="kind of question, which chooses the prompt: %(choices)s",
    )
    parser.add_argument(
        "--history",
        type=_json,
        default=(),
        metavar="JSON",
        help='earlier turns, as \'[["question", "answer"], ...]\', or a file of them',
    )
    parser.add_argument(
        "--subset",
        default="",
        metavar="NAME",
        help="top-level subset whose reranker to use, if subsets have separate rerankers",
    )
    parser.add_argument(
        "--corpus",
        default="",
        metavar="PREFIX",
        help="prefix of the ids of documents to search, if there are several corpora",
    )
    parser.add_argument(
        "--where",
        type=_json,
        default={},
        metavar="JSON",
        help='conditions on metadata, as \'{"year": {"at_least": 2020}}\'',
    )
    return parser


def _json(text: str) -> Json:
    """Return the JSON value in the text, or in the file that it names."""
    try:
        return parse_user_json(text if text.lstrip()[:1] in ("[", "{") else Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        name = shortened_value(text, _MAX_NAME_CHARACTERS)
        raise argparse.ArgumentTypeError(f"{name} is neither JSON nor a file with JSON ({error})") from error


def _answer(pipeline: Pipeline, options: argparse.Namespace) -> None:
    question = Question(options.question, options.kind, options.history, options.subset, options.corpus, options.where)
    if options.search or not pipeline.has_model:
        passages = pipeline.search(question, options.n)
        _print([vars(passage) for passage in passages] if options.json else _passage_list(passages))
        return
    answer = pipeline.answer(question)
    if options.json:
        _print(answer.as_record())
    else:
        state = "" if answer.state == "ok" else f"  ({answer.state})"
        _print(f"{answer.text}{state}\n\n{_passage_list(answer.passages)}")


def _print(value: Json) -> None:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    say(text)


def _passage_list(passages: tuple[Passage, ...]) -> str:
    lines = [_line(number, passage) for number, passage in enumerate(passages, 1)]
    return "\n".join(lines or ["nothing found"])


def _line(number: int, passage: Passage) -> str:
    text = " ".join(passage.text.split())
    cut = text if len(text) <= _WIDTH else f"{text[:_WIDTH]} ..."
    span = "" if passage.start is None else f" [{passage.start}, {passage.end})"
    score = "" if passage.score is None else f", score {passage.score:.4g}"
    title = f" {passage.title!r}" if passage.title else ""
    return f"[{number}]{title} {passage.document_id}{span}{score}\n    {cut}"


def _show_check(pipeline: Pipeline, report: ReplayReport) -> int:
    n = len(report.compared)
    answers = f"{report.n_answers_equal} of {report.n_answers} answers equal" if report.n_answers else "no answers"
    time_each = f"{1000 * report.seconds_each:.1f} ms per question"
    say(f"{answers}, {report.n_rankings_equal} of {n} rankings equal ({time_each})")
    left_out = n - report.n_answers
    if left_out and pipeline.has_model:
        have = "question has" if left_out == 1 else "questions have"
        say(f"{left_out} {have} no answer in the sweep either, and {'was' if left_out == 1 else 'were'} not compared")
    differing = [comparison for comparison in report.compared if comparison.ranking or comparison.answer]
    for comparison in differing[:_N_SHOWN]:
        for difference in filter(None, (comparison.ranking, comparison.answer)):
            say(f"  {comparison.sample_id}: {difference}")
    if len(differing) > _N_SHOWN:
        say(f"  ... and {len(differing) - _N_SHOWN} more")
    return 0 if report.is_equal else 1
