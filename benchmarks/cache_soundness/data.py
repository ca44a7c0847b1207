"""Edits of the data, and the same documents in other files, each on a store that has seen all previous ones."""

import csv
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.cache_soundness import tiny
from benchmarks.cache_soundness.bases import base_cell
from benchmarks.cache_soundness.comparing import Tally, Twin
from components.json_value import Json

Records = list[dict[str, Json]]

_OPTIONS = ("retriever=hybrid_rerank", "diversity=mmr_terms", "filter=metadata")


def _set(which: int, name: str, value: object) -> Callable[[Records, Records], None]:
    def edit(documents: Records, questions: Records) -> None:
        records = documents if name in documents[0] else questions
        records[which][name] = value

    return edit


def _add_document(documents: Records, _: Records) -> None:
    documents.insert(2, {**documents[0], "id": "west/new", "title": "New", "text": "A new bridge opened in 1999."})


def _remove_record(records: Records) -> None:
    del records[2]


EDITS: dict[str, Callable[[Records, Records], None]] = {
    "as it was": lambda documents, questions: None,
    "a document's text": _set(0, "text", "The bridge was opened in 1933. It crosses the river in the east."),
    "a space in a text": lambda documents, _: documents[1].update(text=documents[1]["text"] + " "),
    "a document's title": _set(3, "title", "Another title"),
    "a document's metadata": _set(4, "metadata", {"place": "west", "year": 1899}),
    "the order of metadata": _set(4, "metadata", {"year": 1904, "place": "west"}),
    "a document's id": lambda documents, _: documents[2].update(id="east/another"),
    "a document is added": _add_document,
    "a document is removed": lambda documents, _: _remove_record(documents),
    "documents in another order": lambda documents, _: documents.reverse(),
    "a question": _set(0, "question", "In which year was the bridge opened?"),
    "a reference": _set(1, "references", ["By hand, in 1870"]),
    "the order of references": _set(5, "references", ["25 crowns", "25"]),
    "the gold": _set(2, "gold", ["west/tower"]),
    "a quotation as gold": _set(0, "gold", [{"document": "east/bridge", "text": "opened in 1932"}]),
    "a topic": _set(0, "topic", "rivers"),
    "a task": _set(0, "task", "extractive"),
    "a subset": _set(0, "subset", "east"),
    "a kind": _set(0, "kind", "summarization"),
    "a history": _set(4, "history", [{"question": "Where is the bridge?", "answer": "In the east."}]),
    "passages": _set(0, "passages", ["west/tower"]),
    "conditions": _set(0, "conditions", {"year": {"at_least": 1905}}),
    "whether it can be answered": _set(0, "answerable", False),
    "a question is added": lambda _, questions: questions.append({**questions[0], "id": "q9"}),
    "a question is removed": lambda _, questions: _remove_record(questions),
    "questions in another order": lambda _, questions: questions.reverse(),
}


def compare_edits(folder: Path, twin: Twin, names: Iterable[str]) -> Tally:
    """Compare these edits of both files at the same path, then the same records at another path."""
    tally = Tally()
    for name in names:
        documents, questions = tiny.documents(), tiny.questions()
        EDITS[name](documents, questions)
        tiny.write(folder / "edited", documents, questions)
        twin.compare(f"data: {name}", base_cell(folder / "edited", *_OPTIONS), tally)
    for newline in ("\n", "\r\n"):
        place = folder / f"moved-{len(newline)}"
        tiny.write(place, tiny.documents(), tiny.questions(), newline)
        twin.compare(f"data: at another path, lines that end in {newline!r}", base_cell(place, *_OPTIONS), tally)
    return tally


def formats(folder: Path, twin: Twin) -> Tally:
    """Compare the same documents as folders of files of each kind, with options on and off."""
    tally = Tally()
    for name, documents in _files(folder / "formats"):
        for options in ([], ["dataset.keep_structure=true"], ["dataset.one_per_line=true"]):
            place = folder / "formats" / f"questions-{name}"
            without_gold = [
                {key: value for key, value in question.items() if key not in ("gold", "passages")}
                for question in tiny.questions()
            ]
            tiny.write(place, [], without_gold)
            cell = base_cell(place, f"dataset.documents={documents}", *options)
            twin.compare(f"format: {name} {' '.join(options)}", cell, tally)
    return tally


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    documents = tiny.documents()
    for ending, form in (
        ("txt", "{title}\n\n{text}\n"),
        ("md", "# {title}\n\n{text}\n"),
        ("html", "<html><title>{title}</title><h1>{title}</h1><p>{text}</p></html>"),
        ("json", ""),
    ):
        place = folder / ending
        place.mkdir(parents=True, exist_ok=True)
        for document in documents:
            text = form.format(**document) or json.dumps(document, ensure_ascii=False)
            (place / f"{document['id'].replace('/', '-')}.{ending}").write_text(text, encoding="utf-8")
        yield ending, place
    yield "csv", _csv(folder / "csv", documents)
    yield "sqlite", _database(folder / "sqlite", documents)


def _csv(folder: Path, documents: Records) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "documents.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, ["id", "title", "text"], extrasaction="ignore")
        rows.writeheader()
        rows.writerows(documents)
    return folder


def _database(folder: Path, documents: Records) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "documents.sqlite")) as database, database:
        database.execute("create table if not exists documents (id text primary key, title text, text text)")
        rows = [(each["id"], each["title"], each["text"]) for each in documents]
        database.executemany("insert or replace into documents values (?, ?, ?)", rows)
    return folder
