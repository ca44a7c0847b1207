"""python -m runner.annotate: people inspect a released set, correct it, and say what of it is good."""

if __name__ == "__main__":  # before the imports, which take time and may be interrupted, too
    from runner.console.interruptible import run_main

    run_main("runner.annotate")


import argparse
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from components.errors import ConfigError, DataError, RagGridError
from components.text.languages import detect_language
from runner.console.command_parser import CommandParser
from runner.console.display import make_console, say_error
from runner.console.written_files import write_lines
from runner.results.released_set import Testset
from runner.results.set_files import holds_testset, read_testset, write_testset, write_testsets
from runner.results.set_lines import line_of
from runner.testset.annotating import annotation_tables as tables
from runner.testset.annotating.acceptance import THRESHOLDS, acceptance, acceptance_csv, is_accepted, ratings_of
from runner.testset.annotating.annotation_files import AnnotatorFrom, read_annotations
from runner.testset.annotating.annotations import Annotated
from runner.testset.annotating.annotator_agreement import annotator_agreement
from runner.testset.annotating.annotator_wording import WORDINGS, Language
from runner.testset.annotating.disjoint_parts import split
from runner.testset.annotating.gating import gates_of
from runner.testset.annotating.importing import imported
from runner.testset.annotating.label_studio_tasks import labelling_config, tasks_of
from runner.testset.annotating.sheet import sheet_of
from runner.testset.annotating.shown_to_annotators import drawn


class AnnotationFormat(StrEnum):
    """What annotators work with."""

    LABEL_STUDIO = "label-studio"
    CSV = "csv"


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 0, also for an import that was finished before and would write the same; 1 if an import
    left something as it was or took something out; 2 after one clear message if anything cannot be used: nothing was
    written then.
    """
    options = _parser().parse_args(arguments)
    commands = {"export": _export, "import": _import, "agree": _agree, "accept": _accept, "split": _split}
    try:
        return commands[options.command](options, read_testset(options.folder))
    except RagGridError as error:
        say_error(error)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="python -m runner.annotate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="tasks for Label Studio, or a sheet for each annotator")
    into = commands.add_parser("import", help="what people corrected becomes a new version")
    agree = commands.add_parser("agree", help="how far annotators agree")
    accept = commands.add_parser("accept", help="how much of the set people accept, by topic and task")
    parts = commands.add_parser("split", help="parts without a gold document or a conversation in common")
    for command in (export, into, agree, accept, parts):
        command.add_argument("folder", type=Path, metavar="DIR", help="a released set")
    for command in (into, agree, accept):
        command.add_argument("files", type=Path, nargs="+", metavar="FILE", help="Label Studio's .json, sheets (.csv)")
        _add_choices(command, "--annotator-from", AnnotatorFrom, AnnotatorFrom.COMPLETED_BY, "who annotated")
    export.add_argument("--to", type=Path, required=True, help="the file; the labelling configuration is put beside it")
    _add_choices(export, "--format", AnnotationFormat, AnnotationFormat.LABEL_STUDIO, "of the file")
    export.add_argument("--per-cell", type=int, help="samples of each topic and task (default: all)")
    export.add_argument("--seed", type=int, default=0, help="by which they are drawn (default: %(default)s)")
    _add_choices(export, "--language", Language, None, "of the instructions, that of the questions by default")
    into.add_argument("--out", type=Path, required=True, help="a new folder for the new version")
    into.add_argument("--prefer", metavar="ANNOTATOR", help="who alone counts where they annotated a sample")
    agree.add_argument("--json", type=Path, help="a file for all of it")
    accept.add_argument("--csv", type=Path, help="a file for the table")
    accept.add_argument("--write", type=Path, help="a new folder for the accepted samples")
    accept.add_argument("--at", type=int, choices=THRESHOLDS, default=THRESHOLDS[0], help="from which rating on")
    parts.add_argument("--sizes", nargs="+", required=True, metavar="NAME=SHARE", help="e.g. train=5 dev=1 test=4")
    parts.add_argument("--seed", type=int, default=0, help="orders groups of one size (default: %(default)s)")
    parts.add_argument("--out", type=Path, required=True, help="a folder, in which each part gets one of its name")
    return parser


def _add_choices(
    command: argparse.ArgumentParser, name: str, choices: type[StrEnum], default: StrEnum | None, what: str
) -> None:
    shown = "" if default is None else f" (default: {default})"
    command.add_argument(name, type=choices, choices=list(choices), default=default, help=what + shown)


def _export(options: argparse.Namespace, testset: Testset) -> int:
    if options.per_cell is not None and options.per_cell < 1:
        raise ConfigError(f"--per-cell: got {options.per_cell}, expected at least 1 sample of each topic and task")
    ending = ".csv" if options.format is AnnotationFormat.CSV else ".json"
    if options.to.suffix.lower() != ending:
        raise ConfigError(
            f"--to: got {options.to}, expected a file that ends in {ending} for --format {options.format}"
        )
    samples = drawn(testset.samples, options.per_cell, options.seed)
    if not samples:
        raise DataError(f"{options.folder}: has no samples to annotate")
    is_chinese = detect_language(sample.question for sample in samples) == "zh"
    wording = WORDINGS[options.language or (Language.ZH if is_chinese else Language.EN)]
    if options.format is AnnotationFormat.CSV:
        write_lines(options.to, [sheet_of(samples, testset, wording)])
        print(f"wrote {len(samples):,} samples to {options.to}: a copy for each annotator, named after them")
        return 0
    config = options.to.with_suffix(".xml")
    write_lines(config, [labelling_config(samples, testset, wording)])
    write_lines(options.to, [json.dumps(list(tasks_of(samples, testset)), ensure_ascii=False, indent=1)])
    print(f"wrote {len(samples):,} tasks to {options.to}, and the labelling configuration to {config}")
    return 0


def _import(options: argparse.Namespace, testset: Testset) -> int:
    annotated = read_annotations(options.files, testset, options.annotator_from, of_parent=False)
    made = imported(testset, annotated.annotations, options.prefer, gates_of(testset))
    others = {"conflicts.jsonl": map(vars, made.conflicts), "rejected.jsonl": made.rejected}
    files = {name: b"".join(map(line_of, lines)) for name, lines in others.items()}
    files = {name: content for name, content in files.items() if content}
    console = make_console()
    if holds_testset(options.out, made.testset, files):
        console.print(
            f"already done: version {made.testset.key[:12]} is in {options.out}, and nothing differs", markup=False
        )
        return 0
    write_testset(options.out, made.testset, files)
    _say_left_out(annotated)
    for conflict in made.conflicts:
        console.print(f"stays as it was: {conflict.sample}: {conflict.detail}", markup=False)
    for line in made.rejected:
        console.print(f"out: {line['id']}: {line['gate']}: {line['reason']} {line['detail']}", markup=False)
    changes = f"{made.n_edits} fields changed, {len(made.conflicts)} conflicts, {len(made.rejected)} samples rejected"
    console.print(f"{len(annotated.annotations):,} annotations, {changes}")
    of = "the same content" if made.testset.key == testset.key else f"made of {testset.key[:12]}"
    console.print(f"version {made.testset.key[:12]} in {options.out}, {of}", markup=False)
    if made.conflicts and not options.prefer and len({own.annotator for own in annotated.annotations}) > 1:
        print("Where annotators say different things, --prefer ANNOTATOR lets one of them decide.")
    return 1 if made.conflicts or made.rejected else 0


def _agree(options: argparse.Namespace, testset: Testset) -> int:
    annotated = read_annotations(options.files, testset, options.annotator_from, of_parent=True)
    found = annotator_agreement(testset, annotated.annotations)
    if found.n_annotators < 2:
        raise DataError(f"{found.n_annotators} annotators came, at least 2 are wanted to agree or not")
    if options.json:
        write_lines(options.json, [json.dumps(tables.agreement_record(found), ensure_ascii=False, indent=2)])
    _say_left_out(annotated)
    tables.show_agreement(make_console(), found)
    return 0


def _accept(options: argparse.Namespace, testset: Testset) -> int:
    annotated = read_annotations(options.files, testset, options.annotator_from, of_parent=True)
    ratings = ratings_of(annotated.annotations)
    if not ratings:
        raise DataError(f"{len(annotated.annotations)} annotations came, and not one rating: nothing to accept by")
    kept = [own for own in testset.samples if is_accepted(ratings.get(own.id, ()), options.at)]
    if options.write and not kept:
        raise DataError(f"--write: no sample is rated {options.at} or more by most who rated it: nothing to keep")
    cells = acceptance(testset, ratings)
    if options.csv:
        write_lines(options.csv, [acceptance_csv(cells)])
    _say_left_out(annotated)
    tables.show_acceptance(make_console(), cells)
    if options.write:
        accepted = testset.next_version(kept, (), {"accepted_at": options.at})
        write_testset(options.write, accepted)
        print(f"wrote the {len(kept):,} accepted samples to {options.write}: version {accepted.key[:12]}")
    return 0


def _split(options: argparse.Namespace, testset: Testset) -> int:
    if options.out.exists():
        raise DataError(f"--out: {options.out} is there already; choose another place")
    parts = split(testset, _sizes(options.sizes), options.seed)
    abouts = {part.name: {"part": part.name, "seed": options.seed} for part in parts}
    write_testsets(
        options.out, {part.name: testset.next_version(part.samples, (), abouts[part.name]) for part in parts}
    )
    tables.show_split(make_console(), parts)
    return 0


def _sizes(words: Sequence[str]) -> Mapping[str, float]:
    sizes: dict[str, float] = {}
    for word in words:
        name, _, size = word.partition("=")
        try:
            share = float(size)
        except ValueError:
            share = 0.0
        if not name.isidentifier() or name in sizes or not 0 < share < float("inf"):
            raise ConfigError(f"--sizes: {word!r} came; expected NAME=SHARE, each name once: train=5 dev=1 test=4")
        sizes[name] = share
    return sizes


def _say_left_out(annotated: Annotated) -> None:
    counts = {
        "skipped by their annotator": annotated.n_skipped,
        "drafts that nobody submitted": annotated.n_drafts,
        "not annotated": annotated.n_untouched,
        "of samples that are no longer in the set": annotated.n_of_removed,
    }
    for what, n in counts.items():
        if n:
            print(f"left out: {n:,} {what}")
    if annotated.others:
        names = ", ".join(sorted(annotated.others))
        make_console().print(f"left aside, as they are none of ours: {names}", markup=False)
