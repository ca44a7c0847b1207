"""Exports test sets for annotators, and reads, compares and applies their annotations."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.errors import ConfigError, DataError
from components.text.languages import detect_language
from runner.console.display import make_console, say
from runner.console.written_files import require_other_files, write_lines
from runner.results.released_set import Testset
from runner.results.set_files import holds_testset, read_testset, write_testset, write_testsets
from runner.results.set_lines import encode_line
from runner.testset.annotating import annotation_tables as tables
from runner.testset.annotating.acceptance import acceptance, acceptance_csv, is_accepted, ratings_by_sample
from runner.testset.annotating.annotated_set import sample_per_cell
from runner.testset.annotating.annotation_choices import AnnotationFormat, Language
from runner.testset.annotating.annotation_files import read_annotations
from runner.testset.annotating.annotations import AnnotationSet
from runner.testset.annotating.annotator_agreement import annotator_agreement
from runner.testset.annotating.annotator_wording import WORDINGS
from runner.testset.annotating.disjoint_parts import split
from runner.testset.annotating.gating import configured_gates
from runner.testset.annotating.importing import import_annotations
from runner.testset.annotating.label_studio_tasks import labelling_config, make_tasks
from runner.testset.annotating.sheet import write_sheet


def run(options: argparse.Namespace) -> int:
    """Run the chosen command and return its exit code.

    Raises RagGridError if an option, the test set or an annotation file is unusable.
    """
    commands = {"export": _export, "import": _import, "agree": _agree, "accept": _accept, "split": _split}
    _require_other_files(options)
    return commands[options.command](options, read_testset(options.folder))


def _require_other_files(options: argparse.Namespace) -> None:
    """Raise DataError for a file to write that would replace a file of the set, or annotations of people."""
    names = {"export": "to", "agree": "json", "accept": "csv"}
    path: Path | None = getattr(options, names[options.command]) if options.command in names else None
    if path is None:
        return
    require_other_files(getattr(options, "files", ()), path)
    if path.resolve().parent == options.folder.resolve():
        raise DataError(f"{path}: {options.folder} is the annotated set, which never changes. Choose another folder.")


def _export(options: argparse.Namespace, testset: Testset) -> int:
    if options.per_cell is not None and options.per_cell < 1:
        raise ConfigError(f"--per-cell: got {options.per_cell}, expected at least 1")
    ending = ".csv" if options.format is AnnotationFormat.CSV else ".json"
    if options.to.suffix.lower() != ending:
        raise ConfigError(
            f"--to: got {options.to}, expected a file that ends in {ending} for --format {options.format}"
        )
    samples = sample_per_cell(testset.samples, options.per_cell, options.seed)
    if not samples:
        raise DataError(f"{options.folder}: has no samples to annotate")
    is_chinese = detect_language(sample.question for sample in samples) == "zh"
    wording = WORDINGS[options.language or (Language.ZH if is_chinese else Language.EN)]
    if options.format is AnnotationFormat.CSV:
        write_lines(options.to, [write_sheet(samples, testset, wording)])
        say(f"wrote {len(samples):,} samples to {options.to}. Give each annotator a copy that is named after them.")
        return 0
    config = options.to.with_suffix(".xml")
    write_lines(config, [labelling_config(samples, testset, wording)])
    write_lines(options.to, [json.dumps(list(make_tasks(samples, testset)), ensure_ascii=False, indent=1)])
    say(f"wrote {len(samples):,} tasks to {options.to}, and the labelling configuration to {config}")
    return 0


def _names(files: Sequence[Path]) -> str:
    return ", ".join(map(str, files))


def _import(options: argparse.Namespace, testset: Testset) -> int:
    annotated = read_annotations(options.files, testset, options.annotator_from, accepts_parent=False)
    if annotated == AnnotationSet():
        raise DataError(
            f"{_names(options.files)}: no annotations found. Export annotated tasks as JSON, or fill in the sheet."
        )
    new = import_annotations(testset, annotated.annotations, options.prefer, configured_gates(testset))
    lines_by_file = {"conflicts.jsonl": map(vars, new.conflicts), "rejected.jsonl": new.rejected}
    files = {name: b"".join(map(encode_line, lines)) for name, lines in lines_by_file.items()}
    files = {name: content for name, content in files.items() if content}
    console = make_console()
    if holds_testset(options.out, new.testset, files):
        console.print(f"up to date: {options.out} already has version {new.testset.key[:12]}", markup=False)
        return 0
    write_testset(options.out, new.testset, files)
    _report_left_out(annotated)
    for conflict in new.conflicts:
        console.print(f"unchanged: {conflict.sample}: {conflict.detail}", markup=False)
    for line in new.rejected:
        console.print(f"removed: {line['id']}: {line['gate']}: {line['reason']} {line['detail']}", markup=False)
    changes = f"{new.n_edits} fields changed, {len(new.conflicts)} conflicts, {len(new.rejected)} samples rejected"
    console.print(f"{len(annotated.annotations):,} annotations, {changes}")
    origin = "the same content" if new.testset.key == testset.key else f"derived from {testset.key[:12]}"
    console.print(f"version {new.testset.key[:12]} in {options.out}, {origin}", markup=False)
    if new.conflicts and not options.prefer and len({each.annotator for each in annotated.annotations}) > 1:
        say("Where annotators disagree, --prefer ANNOTATOR lets one of them decide.")
    return 1 if new.conflicts or new.rejected else 0


def _agree(options: argparse.Namespace, testset: Testset) -> int:
    annotated = read_annotations(options.files, testset, options.annotator_from, accepts_parent=True)
    agreement = annotator_agreement(testset, annotated.annotations)
    if agreement.n_annotators < 2:
        raise DataError(
            f"{_names(options.files)}: got annotations of {agreement.n_annotators} annotators, expected at least 2 to "
            "compare"
        )
    if options.json:
        write_lines(options.json, [json.dumps(tables.agreement_record(agreement), ensure_ascii=False, indent=2)])
    _report_left_out(annotated)
    tables.show_agreement(make_console(), agreement)
    return 0


def _accept(options: argparse.Namespace, testset: Testset) -> int:
    annotated = read_annotations(options.files, testset, options.annotator_from, accepts_parent=True)
    ratings = ratings_by_sample(annotated.annotations)
    if not ratings:
        raise DataError(
            f"{_names(options.files)}: got {len(annotated.annotations)} annotations without a rating, expected "
            "some ratings"
        )
    samples = [sample for sample in testset.samples if is_accepted(ratings.get(sample.id, ()), options.at)]
    if options.write and not samples:
        raise DataError(f"--write: no sample is rated {options.at} or more by most of its raters. Use a lower --at.")
    cells = acceptance(testset, ratings)
    if options.csv:
        write_lines(options.csv, [acceptance_csv(cells)])
    _report_left_out(annotated)
    tables.show_acceptance(make_console(), cells)
    if options.write:
        accepted = testset.next_version(samples, (), {"accepted_at": options.at})
        write_testset(options.write, accepted)
        say(f"wrote the {len(samples):,} accepted samples to {options.write}: version {accepted.key[:12]}")
    return 0


def _split(options: argparse.Namespace, testset: Testset) -> int:
    if options.out.exists():
        raise DataError(f"--out: {options.out} already exists. Choose another path.")
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
            raise ConfigError(f"--sizes: got {word!r}, expected NAME=SHARE, each name once: train=5 dev=1 test=4")
        sizes[name] = share
    return sizes


def _report_left_out(annotated: AnnotationSet) -> None:
    counts = {
        "skipped by their annotator": annotated.n_skipped,
        "drafts not submitted": annotated.n_drafts,
        "not annotated": annotated.n_untouched,
        "of samples that are no longer in the set": annotated.n_of_removed,
    }
    for reason, n in counts.items():
        if n:
            say(f"left out: {n:,} {reason}")
    if annotated.others:
        names = ", ".join(sorted(annotated.others))
        make_console().print(f"ignored, because they are not tasks of this set: {names}", markup=False)
