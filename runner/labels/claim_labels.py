"""Labels of claims: people say whether passages support a claim of an answer, contradict it, or do neither.

A file has one record per claim, with `question`, `passages`, `claim` and `verdict`: as JSON Lines, as CSV, or as tasks
of Label Studio, with a choice named `verdict`.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from components.asking.prompt_parts import number_lines
from components.datasets.json_fields import Record, as_list, as_record, read_records, required_text
from components.datasets.json_files import read_json
from components.errors import DataError
from components.json_value import Json
from components.judges.claim_replies import Support
from components.limits import expected_one_of
from components.records import JudgeInput
from runner.console.spreadsheet_cells import escape
from runner.labels.label_files import answer_in_record, csv_records, iterate_controls

_EXPECTED = (
    'claims with "question", "passages", "claim" and "verdict" (supported, contradicted or neither), as JSON Lines '
    "(.jsonl), CSV (.csv), or as Label Studio exports them (.json)"
)
_VERDICT = "verdict"
_TEXTS = ("id", "question", "answer", "claim")
_COLUMNS = ("id", "question", "answer", "passages", "claim", _VERDICT)
_SHOWN = {"Question": "question", "Answer": "answer", "Passages": "shown_passages", "Claim": "claim"}
"""Fields that Label Studio shows, by heading."""


@dataclass(frozen=True)
class LabelledClaim:
    """A claim of an answer, and people's verdict on it. None for a tie of the annotators."""

    judged: JudgeInput
    claim: str
    verdict: Support | None


def read_claim_labels(file: Path) -> list[LabelledClaim]:
    """Return all claims with a verdict, and ties.

    Raises DataError for an invalid value, and if no claim has a verdict.
    """
    readers = {".jsonl": _read_jsonl, ".csv": _read_csv, ".json": _read_label_studio}
    if file.suffix.lower() not in readers:
        raise DataError(
            f"{file}: got the extension '{file.suffix}'{expected_one_of(file.suffix, readers)}: {_EXPECTED}"
        )
    claims = [
        LabelledClaim(_require_passages(record, location), _claim(record, location), verdict)
        for location, record, verdict in readers[file.suffix.lower()](file)
    ]
    if not any(claim.verdict for claim in claims):
        raise DataError(f"{file}: got no claim with a verdict, expected {_EXPECTED}")
    return claims


_Rows = Iterator[tuple[str, Record, Support | None]]
"""The location (for errors), the fields and the verdict of each labelled claim."""


def _read_jsonl(file: Path) -> _Rows:
    return _read_verdicts(read_records(file, _EXPECTED))


def _read_csv(file: Path) -> _Rows:
    return _read_verdicts(csv_records(file, _EXPECTED, lists=("passages",), texts=_TEXTS))


def _read_verdicts(records: Iterator[tuple[str, Record]]) -> _Rows:
    for location, record in records:
        if record.get(_VERDICT):
            yield location, record, _verdict(record[_VERDICT], location)


def _read_label_studio(file: Path) -> _Rows:
    for number, task in enumerate(as_list(read_json(file, _EXPECTED).value, str(file)), start=1):
        location = f"{file}, task {number}"
        record = as_record(task, location)
        counts = Counter(
            _verdict(choice, location)
            for annotation in as_list(record.get("annotations") or [], location)
            for name, value in iterate_controls(as_record(annotation, location), location)
            if name == _VERDICT
            for choice in as_list(value.get("choices"), location)
        )
        if counts:
            (first, n_first), *others = counts.most_common(2)
            is_tie = bool(others) and others[0][1] == n_first
            yield location, as_record(record.get("data"), f"{location}, field 'data'"), None if is_tie else first


def _verdict(value: object, location: str) -> Support:
    verdict = str(value).strip().lower()
    if verdict not in set(Support):
        raise DataError(f"{location}: got the verdict {value!r}{expected_one_of(str(value), list(Support))}")
    return Support(verdict)


def _claim(record: Record, location: str) -> str:
    if not (claim := required_text(record, "claim", location)).strip():
        raise DataError(f"{location}: the claim is blank")
    return claim


def _require_passages(record: Record, location: str) -> JudgeInput:
    judged = answer_in_record(record, str(record.get("id") or record.get("question")), location)
    if not judged.passages:
        raise DataError(f"{location}: has no passages, expected at least one to check the claim against")
    return judged


def claims_file(name: str, items: Sequence[tuple[JudgeInput, Sequence[str]]]) -> dict[str, list[str]]:
    """Return the lines of files to label, by extension: claims in the form of the extension of `name`.

    Label Studio (.json) also needs the labelling configuration (.xml). Raises DataError for another extension.
    """
    records: list[dict[str, Json]] = [
        {
            "id": item.sample.id,
            "question": item.sample.question,
            "answer": item.answer,
            "passages": [passage.text for passage in item.passages],
            "claim": claim,
        }
        for item, claims in items
        for claim in claims
    ]
    match Path(name).suffix.lower():
        case ".jsonl":
            return {".jsonl": [json.dumps({**record, _VERDICT: ""}, ensure_ascii=False) for record in records]}
        case ".csv":
            return {".csv": ["\ufeff" + _csv_text(records)]}
        case ".json":
            tasks = [{"data": {**record, "shown_passages": number_lines(record["passages"])}} for record in records]
            return {".json": [json.dumps(tasks, ensure_ascii=False, indent=1)], ".xml": [_labelling_config()]}
        case other:
            raise DataError(f"{name}: got the extension '{other}', expected .csv, .jsonl, or .json for Label Studio")


def _csv_text(records: Sequence[Mapping[str, Json]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for record in records:
        passages = json.dumps(record["passages"], ensure_ascii=False)
        writer.writerow({**{name: escape(record[name]) for name in _TEXTS}, "passages": passages, _VERDICT: ""})
    return text.getvalue().rstrip("\n")


def _labelling_config() -> str:
    """Return Label Studio's configuration for one claim per task. Format: https://labelstud.io/tags/"""
    root = Xml.Element("View")
    for heading, name in _SHOWN.items():
        Xml.SubElement(root, "Header", value=heading, size="5")
        Xml.SubElement(root, "Text", name=f"shown_{name}", value=f"${name}")
    choices = Xml.SubElement(
        root, "Choices", name=_VERDICT, toName="shown_claim", required="true", choice="single-radio"
    )
    for support in Support:
        Xml.SubElement(choices, "Choice", value=support.value)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode")
