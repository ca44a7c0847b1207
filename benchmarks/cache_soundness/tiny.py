"""A data set of seven documents and eight questions, in which every component finds something to do."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.json_value import Json

Record = Mapping[str, Json]

_TEXTS = {
    "east/bridge": "# The bridge\n\nThe bridge was opened in 1932. It crosses the river in the east.\n\n"
    "## Trains\n\nTrains still use it every day, and ships pass below it.",
    "east/harbour": "# The harbour\n\nThe harbour is deep. Ships land there. It was dug by hand in 1870.",
    "east/copy": "# The bridge\n\nThe bridge was opened in 1932. It crosses the river in the east.",
    "west/mill": "The mill ground corn until 1901. Its wheel is kept in a museum near the river.",
    "west/tower": "The tower was built of red bricks. From its top one sees the bridge and the harbour.",
    "west/fine": "公司因信息披露违规被罚款50万元。资金于2023年3月1日到账。",
    "west/list": "Prices\n\n| year | price |\n|---|---|\n| 1932 | 10 |\n| 1950 | 25 |\n\nThe price was 25 in 1950.",
}
_QUESTIONS: tuple[Record, ...] = (
    {"id": "q1", "question": "When was the bridge opened?", "references": ["In 1932"], "gold": ["east/bridge"]},
    {"id": "q2", "question": "Who dug the harbour?", "references": ["It was dug by hand"], "gold": ["east/harbour"]},
    {"id": "q3", "question": "Until when did the mill grind corn?", "references": ["1901"], "gold": ["west/mill"]},
    {"id": "q4", "question": "How large was the fine? 罚款是多少?", "references": ["50万元"], "gold": ["west/fine"]},
    {
        "id": "q5",
        "question": "And what passes below it?",
        "references": ["ships"],
        "gold": ["east/bridge"],
        "history": [{"question": "When was the bridge opened?", "answer": "In 1932."}],
    },
    {"id": "q6", "question": "What was the price in 1950?", "references": ["25", "25 crowns"], "gold": ["west/list"]},
    {"id": "q7", "question": "What was the tower built of?", "references": ["red bricks"], "gold": ["west/tower"]},
    {"id": "q8", "question": "How deep is the harbour?", "references": ["deep"], "gold": ["east/harbour"]},
)


def documents() -> list[dict[str, Json]]:
    """Return new records, which may be changed."""
    return [
        {"id": an_id, "title": an_id.partition("/")[2].title(), "text": text, "metadata": _metadata(number, an_id)}
        for number, (an_id, text) in enumerate(_TEXTS.items())
    ]


def _metadata(number: int, an_id: str) -> dict[str, Json]:
    return {"place": an_id.partition("/")[0], "year": 1900 + number}


def questions() -> list[dict[str, Json]]:
    """Return new records, which may be changed. Each has two passages, and conditions for a filter."""
    return [
        {
            "subset": "east" if number % 2 else "west",
            "topic": "towns" if number < 3 else "money",
            "passages": [own["gold"][0], "west/tower"],
            "conditions": {"year": {"at_least": 1900 + number % 2}},
            **own,
        }
        for number, own in enumerate(_QUESTIONS)
    ]


def write(folder: Path, documents: Sequence[Record], questions: Sequence[Record], newline: str = "\n") -> None:
    """Write both as JSON Lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in (("documents", documents), ("samples", questions)):
        text = "".join(json.dumps(record, ensure_ascii=False) + newline for record in records)
        (folder / f"{name}.jsonl").write_bytes(text.encode())


def overrides(folder: Path) -> list[str]:
    """Return the overrides that choose the data set in a folder."""
    return [
        "dataset=jsonl",
        f"dataset.documents={folder / 'documents.jsonl'}",
        f"dataset.samples={folder / 'samples.jsonl'}",
    ]
