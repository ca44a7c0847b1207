"""python -m runner.datasets: describes data sets, fetches published ones by name, and imports questions from traces and
tables.
"""

if __name__ == "__main__":  # first, so that Ctrl-C during the slow imports below ends cleanly
    from runner.console.interruptible import run_main

    run_main("runner.datasets")


import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from components.datasets.named_sets import NAMED_SETS
from components.errors import ConfigError, DataError, RagGridError
from components.json_value import Json
from components.subsets import readable_name
from components.testset.repeated_questions import NearDuplicateFinder
from runner.console.command_parser import CommandParser, add_command, tracking_uri
from runner.console.display import make_console, print_error
from runner.console.styled_text import count
from runner.testset.describing.data_tables import print_table

if TYPE_CHECKING:
    from runner.testset.production.traced_questions import SkippedTrace, TracedQuestion

_MAX_TOPICS, _MAX_TASKS = 20, 6


_DESCRIBE = "python -m runner.datasets describe dataset=demo_en"
_PAGE = "docs/datasets.md"
_IMPORT_PAGE = "docs/own-data.md"
_NO_GOLD = (
    "No question has gold or a reference. A sweep then shows what each cell finds, not which cell is better.\n"
    "See docs/own-data.md#questions-without-answers."
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Return the exit code: 0, or 2 after one clear message."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "fetch":
            _fetch(options.name, options.source)
        elif options.command == "import":
            _import(options)
        elif options.command == "table":
            _convert(options)
        else:
            _describe(options.overrides, options.json)
    except RagGridError as error:
        print_error(error)
        return 2
    return 0


def _fetch(name: str, source: Path | None) -> None:
    from runner.testset.fetching.fetching import fetch

    console = make_console()
    fetch(name, source, lambda line: console.print(escape(line)))
    command = f"python -m runner dataset=beir dataset.name={name} language={NAMED_SETS[name].language}"
    console.print(escape(f"Use it with: {command} llm=none metrics=retrieval"))


def _import(options: argparse.Namespace) -> None:
    from runner.testset.production.private_data import private_data
    from runner.testset.production.questions_import import QUESTIONS, import_questions, without_passages

    private = private_data(options.mask)
    if problems := NearDuplicateFinder(options.threshold).check():
        raise ConfigError([f"--{problem}" for problem in problems])
    if options.experiment and options.kind != "mlflow":
        raise ConfigError(["--experiment: requires --from mlflow. Remove it."])
    traces = without_passages(_traces(options)) if options.no_passages else _traces(options)
    counts = import_questions(traces, options.out, private, options.threshold)
    console = make_console()
    for line in counts.lines():
        console.print(escape(line))
    data = f"dataset=jsonl dataset.documents=DOCUMENTS dataset.samples={options.out / QUESTIONS} language=LANGUAGE"
    console.print(escape(f"Use it with: python -m runner {data} llm=none metrics=retrieval -m retriever=bm25,hybrid"))
    console.print("DOCUMENTS is your folder, LANGUAGE its language (en, zh, de, ...)")
    if not options.no_passages:
        console.print("passages in the traces join these documents; --no-passages leaves them out")
    console.print("the questions have no gold yet: docs/own-data.md#questions-without-answers")


def _traces(options: argparse.Namespace) -> "Iterable[TracedQuestion | SkippedTrace]":
    from runner.testset.production.langfuse_traces import read_langfuse
    from runner.testset.production.mlflow_server_traces import read_mlflow
    from runner.testset.production.otlp_traces import read_otlp

    if options.kind == "mlflow":
        return read_mlflow(options.source, options.experiment, options.feedback)
    read = read_otlp if options.kind == "otel" else read_langfuse
    return read(Path(options.source), options.feedback)


def _convert(options: argparse.Namespace) -> None:
    from runner.testset.production.question_table import TableColumns, convert_table

    columns = TableColumns(**{name: getattr(options, name) for name in TableColumns.__dataclass_fields__})
    made = convert_table(options.table, columns, options.out, blank_is_unanswerable=options.blank_is_unanswerable)
    console = make_console()
    subsets = ", ".join(f"{name} {n:,}" for name, n in made.n_by_subset.items())
    console.print(escape(f"{options.out}: {count(made.n_questions, 'question')} ({subsets})"))
    if made.n_without_answer:
        console.print(f"{count(made.n_without_answer, 'question')} without an answer: no metric of answers scores them")
    data = f"dataset=jsonl dataset.documents=DOCUMENTS dataset.samples={options.out} language=LANGUAGE"
    console.print(escape(f"Check it with: python -m runner.datasets describe {data}"))
    console.print("DOCUMENTS is your folder, LANGUAGE its language (en, zh, de, ...)")


def _describe(overrides: list[str], target: Path | None) -> None:
    from components.protocols import Dataset
    from runner.launch.compose import compose_config
    from runner.pipeline.building import build_component, read_plugins
    from runner.testset.describing.data_description import describe_benchmark

    config = compose_config(overrides)
    dataset: Dataset = build_component(config["dataset"], Dataset, "dataset", read_plugins(config))
    description = describe_benchmark(dataset.name, dataset.load())
    if target:
        _write(target, description)
    show(make_console(), description)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m runner.datasets",
        description="Describe a data set, fetch a published one by name, or import questions from traces or a table.",
        example=_DESCRIBE,
        page=_PAGE,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    purpose = "show sizes, lengths, subsets, gold, near-duplicates and leaks of a data set"
    describe = add_command(commands, "describe", purpose, example=_DESCRIBE, page=_PAGE)
    describe.add_argument(
        "overrides", nargs="*", help="overrides, as in python -m runner, e.g. dataset=beir dataset.root=PATH"
    )
    describe.add_argument("--json", type=Path, metavar="FILE", help="write the whole description to this file")
    fetching = add_command(
        commands,
        "fetch",
        "download a published data set",
        example="python -m runner.datasets fetch scifact",
        page=_PAGE,
    )
    fetching.add_argument("name", help=f"one of {', '.join(sorted(NAMED_SETS))}")
    fetching.add_argument(
        "--from", dest="source", type=Path, metavar="FOLDER", help=("folder of files that you downloaded yourself")
    )
    _add_import(commands)
    _add_table(commands)
    return parser


def _add_import(commands: "argparse._SubParsersAction[CommandParser]") -> None:
    importing = add_command(
        commands,
        "import",
        "make a data set of the questions in an application's traces",
        example="python -m runner.datasets import --from otel traces.jsonl --out questions --mask email,phone",
        page=_IMPORT_PAGE,
    )
    importing.add_argument(
        "--from", dest="kind", choices=("mlflow", "otel", "langfuse"), required=True, help="source of the traces"
    )
    importing.add_argument(
        "source", type=tracking_uri, help="MLflow's tracking URI, or a file of OTLP JSON or of Langfuse's export"
    )
    importing.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder for the questions")
    importing.add_argument(
        "--mask",
        action="append",
        default=[],
        metavar="RULES",
        help=(
            "private data to mask: any of email,phone,card,ip, or one regular expression after them; repeat the "
            "option for further expressions"
        ),
    )
    importing.add_argument(
        "--no-passages", action="store_true", help="leave out the passages, to search only your own documents"
    )
    importing.add_argument(
        "--experiment", default="", metavar="NAME", help=("name of the MLflow experiment (default: all experiments)")
    )
    importing.add_argument(
        "--feedback",
        default="",
        metavar="NAME",
        help=("name of the assessment, attribute or score that holds user feedback"),
    )
    importing.add_argument(
        "--threshold",
        type=float,
        default=0.6,
        metavar="SHARE",
        help=("smallest share of common words at which two questions count as near-duplicates (default: %(default)s)"),
    )


def _add_table(commands: "argparse._SubParsersAction[CommandParser]") -> None:
    converting = add_command(
        commands,
        "table",
        "make a data set of the questions in a CSV file",
        example="python -m runner.datasets table faq.csv --question Question --answer Answer --out questions.jsonl",
        page=_IMPORT_PAGE,
    )
    converting.add_argument("table", type=Path, help="a CSV file in UTF-8, whose first line names the columns")
    for name, required, what in (
        ("question", True, "the questions"),
        ("answer", False, "the correct answers"),
        ("document", False, "the document that has the answer; several are separated by semicolons, and one suffices"),
        ("quote", False, "the sentence that has the answer, copied from the document"),
        ("topic", False, "topics, for tables of scores by topic"),
        ("id", False, "ids (default: the number of the line)"),
    ):
        converting.add_argument(
            f"--{name}", default="", required=required, metavar="COLUMN", help=f"name of the column with {what}"
        )
    converting.add_argument("--out", type=Path, required=True, metavar="FILE", help="file for the questions (.jsonl)")
    converting.add_argument(
        "--blank-is-unanswerable",
        action="store_true",
        help="a question without a document is one that the documents do not answer (default: its gold is unknown)",
    )


def _write(path: Path, description: Mapping[str, Json]) -> None:
    try:
        path.write_text(json.dumps(description, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"--json: {path} cannot be written ({error.strerror}). Choose another path.") from error


def show(console: Console, description: Mapping[str, Json]) -> None:
    """Print the description as tables for 100 columns, with only the largest of many topics and tasks."""
    sizes = f"{count(description['n_documents'], 'document')}, {count(description['n_samples'], 'sample')}"
    console.print(f"[bold]{escape(description['name'])}[/]: {sizes}")
    measures = ("min", "median", "mean", "p99", "max")
    lengths = [(name, *(entry[measure] for measure in measures)) for name, entry in description["lengths"].items()]
    print_table(console, "Lengths (characters)", ("", *measures), lengths)
    subsets = [
        (
            readable_name(name, description["labels"]),
            entry["n_samples"],
            entry["n_with_references"],
            entry["n_with_gold"],
            ", ".join(entry["kinds"]),
        )
        for name, entry in description["subsets"].items()
    ]
    print_table(console, "Subsets", ("subset", "samples", "with references", "with gold", "kinds"), subsets)
    _show_matrix(console, description)
    for title, part in (
        ("Gold and references", "gold"),
        ("Duplicates", "duplicates"),
        ("Leaks (samples)", "leaks"),
        ("Notes", "notes"),
    ):
        print_table(console, title, ("", ""), description[part].items())
    if not any(entry["n_with_references"] or entry["n_with_gold"] for entry in description["subsets"].values()):
        console.print(_NO_GOLD)


def _show_matrix(console: Console, description: Mapping[str, Json]) -> None:
    matrix, labels = description["matrix"], description["labels"]
    if not matrix:
        return
    per_topic = Counter({topic: sum(row.values()) for topic, row in matrix.items()})
    per_task = sum((Counter(row) for row in matrix.values()), Counter[str]())
    tasks = [task for task, _ in per_task.most_common(_MAX_TASKS)]
    rows = [
        (labels.get(topic, topic), *(matrix[topic].get(task, 0) for task in tasks), n)
        for topic, n in per_topic.most_common(_MAX_TOPICS)
    ]
    print_table(
        console, "Samples by topic and task", ("topic", *(labels.get(task, task) for task in tasks), "all"), rows
    )
    n_outside = description["n_samples"] - sum(per_topic.values())
    if n_outside:
        console.print(f"[dim]samples without a topic or a task: {n_outside:,}[/]")
    cut = [
        f"{n_all - n_shown} smaller {name}"
        for name, n_all, n_shown in (("topics", len(per_topic), len(rows)), ("tasks", len(per_task), len(tasks)))
        if n_all > n_shown
    ]
    if cut:
        console.print(f"[dim]and {', '.join(cut)}: --json has them all[/]")
