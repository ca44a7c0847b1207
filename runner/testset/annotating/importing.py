"""Turns the annotators' annotations of a set into its next version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.errors import DataError
from components.json_value import Json
from components.limits import expected_one_of
from components.testset.protocols import DraftGate
from runner.results.released_set import Testset
from runner.testset.annotating.annotations import Annotation
from runner.testset.annotating.gating import reject_samples, rejection_lines
from runner.testset.annotating.resolving import Conflict, resolve_annotations


@dataclass(frozen=True)
class ImportedVersion:
    """The next version of a set. `rejected` are the lines of edited samples that a gate rejected."""

    testset: Testset
    n_edits: int
    conflicts: tuple[Conflict, ...]
    rejected: tuple[dict[str, Json], ...]


def import_annotations(
    testset: Testset, annotations: Sequence[Annotation], prefer: str | None, gates: Mapping[str, DraftGate]
) -> ImportedVersion:
    """Return the next version: the annotated set, without the edited samples that a gate now rejects.

    The set itself is returned if nothing changed. Raises DataError if no annotator is called `prefer`.
    """
    annotators = sorted({annotation.annotator for annotation in annotations})
    if prefer is not None and prefer not in annotators:
        expected = expected_one_of(prefer, annotators) if annotators else ", but the set has no annotations"
        raise DataError(f"--prefer: got {prefer!r}{expected}")
    about = {"annotators": annotators}
    resolved = resolve_annotations(testset, annotations, prefer)
    edited = testset.next_version(resolved.samples, resolved.edits, about)
    rejected = reject_samples(gates, edited, list(dict.fromkeys(edit.sample for edit in resolved.edits)))
    names = {rejection.sample for rejection in rejected}
    # Resolve again without them: histories of later turns must not contain rejected samples.
    remaining = resolve_annotations(
        testset, [annotation for annotation in annotations if annotation.sample not in names], prefer
    )
    others = [sample for sample in remaining.samples if sample.id not in names]
    edits = [edit for edit in remaining.edits if edit.sample not in names]
    following = testset.next_version(others, edits, about)
    return ImportedVersion(following, len(edits), resolved.conflicts, tuple(rejection_lines(rejected, edited)))
