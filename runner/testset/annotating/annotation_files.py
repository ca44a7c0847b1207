"""Reads annotations from exports of Label Studio and from sheets."""

from collections.abc import Sequence
from pathlib import Path

from components.errors import DataError
from runner.results.released_set import Testset
from runner.testset.annotating.annotated_set import AnnotatedVersions
from runner.testset.annotating.annotation_choices import AnnotatorFrom
from runner.testset.annotating.annotations import AnnotationSet, join_annotations
from runner.testset.annotating.label_studio_export import read_export
from runner.testset.annotating.sheet import read_sheet


def read_annotations(
    files: Sequence[Path], testset: Testset, annotator_from: AnnotatorFrom, *, accepts_parent: bool
) -> AnnotationSet:
    """Read exports of Label Studio (.json) and sheets (.csv). With `accepts_parent`, annotations of the parent version
    count too.

    Raises DataError for a file that cannot be read, annotations of another set, and two annotators of the same name.
    """
    known = AnnotatedVersions(testset, accepts_parent=accepts_parent)
    parts = []
    names: dict[str, Path] = {}
    for file in files:
        suffix = file.suffix.lower()
        if suffix not in (".json", ".csv"):
            raise DataError(
                f"{file}: got the extension '{file.suffix}', expected .json (Label Studio) or .csv (a sheet)"
            )
        is_one_person = suffix == ".csv" or annotator_from is AnnotatorFrom.FILE
        if is_one_person and names.setdefault(file.stem, file) != file:
            raise DataError(
                f"{file}: names the same annotator '{file.stem}' as {names[file.stem]}. Rename one of the files."
            )
        annotated = read_sheet(file, known, file.stem) if suffix == ".csv" else None
        annotated = annotated or read_export(file, known, file.stem if is_one_person else None)
        parts.append((str(file), annotated))
    return join_annotations(parts)
