"""Reads annotations that Label Studio exported as JSON.

Format: https://labelstud.io/guide/task_format
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from components.datasets.json_fields import Record, as_list, as_record, optional_texts, required_id, required_text
from components.datasets.json_files import read_json
from components.errors import DataError
from components.records import Sample
from runner.testset.annotating.annotated_set import AnnotatedVersions
from runner.testset.annotating.annotations import MAX_RATING, Annotation, AnnotationSet, AnnotatorCheck
from runner.testset.annotating.annotator_wording import NO, YES
from runner.testset.annotating.marks import Mark, make_gold

_EXPECTED = "an export of Label Studio as JSON: a list of tasks with 'data' and 'annotations'"
_NAMES = ("email", "username", "id")
"""Fields that identify an annotator, by preference."""


def read_export(file: Path, known: AnnotatedVersions, annotator: str | None) -> AnnotationSet:
    """Read all annotations of a file, made by `annotator`, or if None, by the annotator that Label Studio recorded.

    Skipped annotations and drafts are counted. Raises DataError for a file that is not such an export; see also
    `AnnotatedVersions`.
    """
    annotations: list[Annotation] = []
    n_skipped = n_drafts = n_untouched = n_of_removed = 0
    other_controls: set[str] = set()
    for number, task in enumerate(as_list(read_json(file, _EXPECTED).value, f"{file}: expected {_EXPECTED}"), start=1):
        location = f"{file}, task {number}"
        record = as_record(task, location)
        if "annotations" not in record:
            raise DataError(f"{location}: {_describe_format(record)}, expected {_EXPECTED}")
        data = as_record(record.get("data"), f"{location}, field 'data'")
        sample = known.sample_of(required_id(data, location), required_text(data, "version", location), location)
        records = [as_record(annotation, location) for annotation in as_list(record["annotations"], location)]
        submitted = [annotation for annotation in records if not annotation.get("was_cancelled")]
        n_skipped += len(records) - len(submitted)
        n_drafts += bool(record.get("drafts"))
        n_untouched += not records and not record.get("drafts")
        if sample is None:
            n_of_removed += len(submitted)
            continue
        names = known.documents_of(optional_texts(data, "documents", location), location)
        for annotation in submitted:
            results = _Results(annotation, sample, names, known, location)
            annotations.append(results.annotation(annotator or _get_annotator(annotation, location)))
            other_controls |= results.others
    return AnnotationSet(tuple(annotations), n_skipped, n_drafts, n_untouched, n_of_removed, frozenset(other_controls))


def _describe_format(record: Record) -> str:
    if "annotator" in record or "annotation_id" in record:
        return "this is JSON-MIN, in which annotations overwrite data of the same name. Export as JSON."
    if "predictions" in record:
        return (
            "these are tasks without annotations yet: import them into Label Studio, annotate them, and export as JSON"
        )
    return f"a task without annotations, with the fields {', '.join(record) or 'none'}"


def _get_annotator(annotation: Record, location: str) -> str:
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = next((who[name] for name in _NAMES if who.get(name)), None)
    if isinstance(who, bool) or not isinstance(who, int | str) or not str(who).strip():
        raise DataError(
            f"{location}: an annotation lacks its annotator (completed_by). Give each annotator a file with their "
            "name, and use --annotator-from file."
        )
    return str(who)


class _Results:
    """The values of the controls in one annotation."""

    def __init__(
        self, annotation: Record, sample: Sample, documents: Sequence[str], known: AnnotatedVersions, location: str
    ) -> None:
        """`documents` are the ids of the shown documents, in their order."""
        self._sample, self._documents, self._known, self._location = sample, documents, known, location
        self._values: dict[str, list[Record]] = {}
        for result in as_list(annotation.get("result", []), location):
            control = as_record(result, location)
            if control.get("type") != "relation":
                value = as_record(control.get("value", {}), location)
                self._values.setdefault(required_text(control, "from_name", location), []).append(value)
        document_names = {f"gold_{number}" for number in range(1, len(self._documents) + 1)}
        checks = {f"check_{check}" for check in AnnotatorCheck}
        self.others = self._values.keys() - {"question", "references", "topic", "rating"} - checks - document_names

    def annotation(self, annotator: str) -> Annotation:
        """Return the annotation that the values make. Entries that cannot be interpreted become problems."""
        problems: list[str] = []
        questions, references = self._texts("question"), self._texts("references")
        marks = list(self._marks())
        topic = self._choice("topic")
        if topic is not None and topic not in self._known.topics:
            problems.append(f"this set has no topic '{topic}'")
        gold = None
        # An annotation that was begun without the prediction has no text at all, only a rating: nothing was deleted.
        if questions or references or marks:
            gold, wrong = make_gold(self._sample, marks, self._known.testset.texts)
            problems += [*wrong, *self._list_missing(questions, references, marks)]
        return Annotation(
            self._sample.id,
            annotator,
            self._rating(),
            dict(self._checks()),
            topic,
            questions[0] if questions else None,
            references or None,
            gold,
            tuple(problems),
        )

    def _list_missing(
        self, questions: Sequence[str], references: Sequence[str], marks: Sequence[Mark]
    ) -> Iterator[str]:
        if len(questions) != 1:
            yield f"got {len(questions)} questions, expected one"
        if self._sample.references and not references:
            yield "no answer is left"
        if any(unit.start is not None for unit in self._sample.gold) and not marks:
            yield "no mark is left: rate it 1 or 2 to have it removed"

    def _texts(self, name: str) -> tuple[str, ...]:
        return tuple(
            text for value in self._values.get(name, ()) for text in optional_texts(value, "text", self._location)
        )

    def _marks(self) -> Iterator[Mark]:
        for number, name in enumerate(self._documents, start=1):
            for value in self._values.get(f"gold_{number}", ()):
                start, end, text = (value.get(field) for field in ("start", "end", "text"))
                if type(start) is not int or type(end) is not int or not isinstance(text, str | None):
                    raise DataError(
                        f"{self._location}: got the mark {dict(value)}, expected whole numbers and a string"
                    )
                yield Mark(name, start, end, text)

    def _choice(self, name: str) -> str | None:
        chosen = [
            one for value in self._values.get(name, ()) for one in optional_texts(value, "choices", self._location)
        ]
        if len(chosen) > 1:
            raise DataError(f"{self._location}: got {len(chosen)} choices for '{name}', expected one")
        return chosen[0] if chosen else None

    def _checks(self) -> Iterator[tuple[AnnotatorCheck, bool]]:
        for check in AnnotatorCheck:
            chosen = self._choice(f"check_{check}")
            if chosen is not None:
                if chosen.lower() not in YES | NO:
                    raise DataError(f"{self._location}: got '{chosen}' for check_{check}, expected yes or no")
                yield check, chosen.lower() in YES

    def _rating(self) -> int | None:
        """Return the rating, or None if no star was given."""
        ratings = [value.get("rating") for value in self._values.get("rating", ())]
        if len(ratings) > 1:
            raise DataError(f"{self._location}: got {len(ratings)} ratings, expected one")
        for rating in ratings:
            if type(rating) is not int or not 0 <= rating <= MAX_RATING:
                raise DataError(f"{self._location}: got the rating {rating!r}, expected 1 to {MAX_RATING}")
            return rating or None
        return None
