"""Released sets: written, read, and refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from components.datasets.jsonl import Jsonl
from components.errors import DataError
from components.records import Documents, Evidence
from runner.results import released_set as content
from runner.results.released_set import Edit, content_key
from runner.results.set_files import UNFINISHED, read_testset, require_replaceable, write_testset
from tests.runner.testset.small import SAMPLES, small_set


def test_written_testset_is_read_back(tmp_path: Path) -> None:
    edit = Edit("s1", "question", "Why?", "When was the bridge opened?", ("ann", "bo"), "0" * 64)
    written = replace(small_set(), parent="0" * 64, edits=(edit,))
    write_testset(tmp_path / "set", written, {"omnieval/a.txt": b"a"})
    read = read_testset(tmp_path / "set")
    assert (read.samples, read.documents, read.edits) == (written.samples, written.documents, written.edits)
    assert (read.parent, read.key, read.about) == (written.parent, written.key, written.about)
    assert read.provenance["s1"] == {"draft": "d1", "tags": []}
    assert (tmp_path / "set/omnieval/a.txt").read_bytes() == b"a"
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_testset_is_loaded_as_a_data_set(tmp_path: Path) -> None:
    write_testset(tmp_path / "set", small_set())
    loaded = Jsonl(str(tmp_path / "set/documents.jsonl"), str(tmp_path / "set/samples.jsonl")).load()
    assert [(each.id, each.gold, each.topic) for each in loaded.samples] == [(s.id, s.gold, s.topic) for s in SAMPLES]


def test_set_key_depends_only_on_content() -> None:
    testset = small_set()
    columns = (testset.documents.ids, testset.documents.titles, testset.documents.texts, testset.documents.metadata)
    documents = Documents(*(column[::-1] for column in columns))
    samples = [replace(each, gold=each.gold[::-1]) for each in reversed(SAMPLES)]
    assert content_key(samples, documents) == testset.key
    assert replace(testset, provenance={}, about={}, parent="0").key == testset.key


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Why?"},
        {"references": ("In 1932", "1932")},
        {"gold": (Evidence("bridge", 0, 3),)},
        {"topic": None},
        {"task": "other"},
        {"subset": "other"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_changed_sample_changes_the_set_key(change: dict[str, object]) -> None:
    testset = small_set()
    changed = (replace(SAMPLES[0], **change), *SAMPLES[1:])  # type: ignore[arg-type]
    assert content_key(changed, testset.documents) != testset.key


def test_changed_document_changes_the_set_key() -> None:
    testset = small_set()
    titled = replace(testset.documents, titles=["Bridge", "Tower", "River"])
    assert content_key(SAMPLES, titled) != testset.key


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        ("samples.jsonl", "In 1932", "In 1933", "changed or damaged"),
        ("documents.jsonl", "503", "504", "changed or damaged"),
        ("manifest.json", '"parent"', '"parents"', "no field 'parent'"),
        ("manifest.json", "{", "", "not JSON"),
        ("samples.jsonl", '"s2"', '"s1"', "the sample 's1' occurs twice"),
        ("samples.jsonl", '"start": 0', '"start": 9000', r"its gold is \[9000, 30\) of 'bridge', which has"),
        ("samples.jsonl", '"start": 0', '"start": null', "both or neither"),
        ("samples.jsonl", '"document": "tower"', '"document": "towel"', "'towel', which is not a document of the set"),
        ("samples.jsonl", '"kind": "qa"', '"kind": "quiz"', "got kind 'quiz', expected one of"),
        ("samples.jsonl", '"subset"', '"sub"', "unknown field 'sub', expected one of"),
    ],
)
def test_damaged_testset_is_refused(name: str, before: str, after: str, message: str, tmp_path: Path) -> None:
    write_testset(tmp_path / "set", small_set())
    file = tmp_path / "set" / name
    text = file.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), "utf-8")
    with pytest.raises(DataError, match=message):
        read_testset(tmp_path / "set")


@pytest.mark.parametrize(("name", "message"), [("none", "does not exist"), ("", "does not exist")])
def test_folder_without_a_testset_is_rejected(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{message}, expected a test set"):
        read_testset(tmp_path / name)


def test_existing_testset_is_not_overwritten(tmp_path: Path) -> None:
    write_testset(tmp_path, small_set())  # an empty folder is taken
    with pytest.raises(DataError, match="already exists"):
        write_testset(tmp_path, small_set())


def test_replaced_testset_leaves_unrelated_files(tmp_path: Path) -> None:
    edit = Edit("s1", "topic", None, "roads", ("ann",), "0" * 64)
    write_testset(tmp_path, replace(small_set(), edits=(edit,)))
    (tmp_path / "notes.txt").write_text("mine")
    smaller = replace(small_set(), samples=SAMPLES[:2])
    write_testset(tmp_path, smaller, replace=True)
    assert read_testset(tmp_path).key == smaller.key
    assert read_testset(tmp_path).edits == ()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_failed_write_leaves_no_testset_files(tmp_path: Path) -> None:
    half = replace(SAMPLES[0], question="\ud83d?")
    with pytest.raises(DataError, match="lone surrogate"):
        write_testset(tmp_path / "set", replace(small_set(), samples=(half,)))
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_testset(tmp_path / "file" / "set", small_set())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_empty_testset_is_written_and_read(tmp_path: Path) -> None:
    empty = content.Testset(Documents((), (), ()), ())
    write_testset(tmp_path / "set", empty)
    assert read_testset(tmp_path / "set").samples == ()
    assert json.loads((tmp_path / "set/manifest.json").read_text())["n_samples"] == 0


ABOUT = {"configuration": {"corpus": {"path": "docs"}}}


def test_files_of_a_killed_process_do_not_block_writing(tmp_path: Path) -> None:
    new, there = tmp_path / "new", tmp_path / "there"
    for left in (tmp_path / f".new{UNFINISHED}", there / UNFINISHED):
        left.mkdir(parents=True)
        (left / "samples.jsonl").write_text("half")
    require_replaceable(there, ABOUT)
    for folder in (new, there):
        write_testset(folder, small_set(), replace=True)
        assert read_testset(folder).key == small_set().key
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "there"]
    assert {path.name for path in there.iterdir()} == {path.name for path in new.iterdir()}


def test_testset_can_be_written_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    require_replaceable(Path(), ABOUT)
    write_testset(Path(), small_set())
    assert read_testset(tmp_path).key == small_set().key


def test_testset_of_the_same_corpus_may_be_replaced(tmp_path: Path) -> None:
    require_replaceable(tmp_path / "new" / "set", ABOUT)
    write_testset(tmp_path / "set", replace(small_set(), about=ABOUT))
    require_replaceable(tmp_path / "set", ABOUT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"about": {"configuration": {"corpus": {"path": "others"}}}}, "another corpus, others instead of docs"),
        ({"parent": "0" * 64}, "people corrected"),
        ({"edits": (Edit("s1", "topic", None, "roads", ("ann",), "0" * 64),)}, "people corrected"),
    ],
)
def test_testset_of_another_corpus_or_with_edits_is_not_replaced(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    write_testset(tmp_path / "set", replace(small_set(), **{"about": ABOUT, **change}))  # type: ignore[arg-type]
    with pytest.raises(DataError, match=message):
        require_replaceable(tmp_path / "set", ABOUT)


def test_path_that_is_not_a_testset_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text("mine")
    with pytest.raises(DataError, match="contains files that are not part of a test set"):
        require_replaceable(tmp_path, ABOUT)
    with pytest.raises(DataError, match="is not a folder"):
        require_replaceable(tmp_path / "samples.jsonl" / "set", ABOUT)
