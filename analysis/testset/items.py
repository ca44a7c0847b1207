"""Facts to show about one draft: records without behaviour, read from the files of a set."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.samples.story import Excerpt, excerpt
from components.errors import DataError
from components.json_value import Json
from components.records import Documents, Sample
from runner.results import Testset, read_testset

ACCEPTED = "accepted"
_REJECTED = "rejected.jsonl"


@dataclass(frozen=True)
class DraftPassage:
    """A place in a document. `title` and `excerpt` are empty if the document is not in the set."""

    document_id: str
    title: str
    excerpt: Excerpt


@dataclass(frozen=True)
class Item:
    """A draft with its outcome.

    `state` is "accepted", "rejected", or "failed" if a request failed. `remarks` are remarks of gates, or the reason
    for the rejection.
    """

    id: str
    topic: str
    task: str
    state: str
    reason: str
    gate: str
    question: str
    references: tuple[str, ...]
    history: tuple[tuple[str, str], ...]
    passages: tuple[DraftPassage, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class ShownSet:
    """A set in a folder: all drafts, and the facts of its manifest."""

    folder: Path
    testset: Testset
    items: tuple[Item, ...]


def read_items(folder: Path) -> ShownSet:
    """Return the accepted drafts, then the rejected ones.

    Raises DataError if the set or a rejected draft cannot be read.
    """
    testset = read_testset(folder)
    texts = _Texts(testset.documents)
    items = [_accepted_item(sample, testset.provenance.get(sample.id, {}), texts) for sample in testset.samples]
    rejected = folder / _REJECTED
    if rejected.exists():  # a version that people edited has none
        items += [
            _rejected_item(line, f"{rejected}, line {number}", texts)
            for number, line in enumerate(rejected.read_text(encoding="utf-8").split("\n"), 1)
            if line
        ]
    return ShownSet(folder, testset, tuple(items))


class _Texts:
    """Documents of a set, by id."""

    def __init__(self, documents: Documents) -> None:
        self._row = {document_id: row for row, document_id in enumerate(documents.ids)}
        self._documents = documents

    def passage(self, document_id: str, start: int | None, end: int | None) -> DraftPassage:
        """Return a place with the text around it."""
        row = self._row.get(document_id)
        if row is None:
            return DraftPassage(document_id, "", Excerpt())
        return DraftPassage(document_id, self._documents.titles[row], excerpt(self._documents.texts[row], start, end))


def _accepted_item(sample: Sample, provenance: Mapping[str, Json], texts: _Texts) -> Item:
    return Item(
        sample.id,
        sample.topic or "",
        sample.task or "",
        ACCEPTED,
        "",
        "",
        sample.question,
        sample.references,
        tuple((turn.question, turn.answer) for turn in sample.history),
        tuple(texts.passage(unit.document_id, unit.start, unit.end) for unit in sample.gold),
        tuple(_remarks(provenance)),
    )


def _remarks(provenance: Mapping[str, Json]) -> list[str]:
    tags = [f"{tag['gate']}: {tag['reason']} {tag['detail']}".strip() for tag in provenance.get("tags", ())]
    notes = [f"{name}: {text}" for name, text in provenance.get("notes", {}).items()]
    corrected = ["corrected after inspection"] if provenance.get("was_corrected") else []
    return [*corrected, *tags, *notes]


def _rejected_item(line: str, location: str, texts: _Texts) -> Item:
    try:
        record = json.loads(line)
        spans: Sequence[Mapping[str, Json]] = record.get("gold") or record["evidence"]
        return Item(
            record["id"],
            record["topic"] or "",
            record["task"],
            record["state"],
            record["reason"],
            record["gate"],
            record["question"],
            tuple(record.get("references", ())),
            tuple((turn["question"], turn["answer"]) for turn in record.get("history", ())),
            tuple(texts.passage(span["document"], span.get("start"), span.get("end")) for span in spans),
            (f"{record['gate']}: {record['reason']} {record['detail']}".strip(),),
        )
    except (KeyError, TypeError, RecursionError, ValueError) as error:
        raise DataError(
            f"{location}: cannot be read ({error!r}), expected a line as runner.generate writes it"
        ) from error


def filter_items(
    items: Sequence[Item], *, state: str = "", reason: str = "", gate: str = "", topic: str = "", task: str = ""
) -> list[Item]:
    """Return the drafts that meet all conditions; "" is not a condition."""
    conditions = {"state": state, "reason": reason, "gate": gate, "topic": topic, "task": task}
    return [
        item for item in items if all(not value or getattr(item, name) == value for name, value in conditions.items())
    ]


def counts_by_reason(items: Sequence[Item]) -> dict[tuple[str, str], int]:
    """Return the number of rejected drafts by (gate, reason), the most frequent first."""
    counts: dict[tuple[str, str], int] = {}
    for item in items:
        if item.state != ACCEPTED:
            key = item.gate, item.reason or item.state
            counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
