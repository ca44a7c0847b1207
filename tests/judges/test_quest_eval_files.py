import json
from pathlib import Path

import pytest

from components.errors import DataError
from components.judges.quest_eval_files import PublishedQuestions, hash_published_files, question_files, read_published

ENTRY = {"key_info": ["杭州"], "question": ["在哪？", "几座？"], "answers": ["杭州", "无法推断"]}


def write(file: Path, entries: object) -> Path:
    file.write_text(json.dumps(entries, ensure_ascii=False), encoding="utf-8")
    return file


def test_published_file_name_determines_the_subset(tmp_path: Path) -> None:
    file = write(tmp_path / "QuestAnswer2Docs_quest_gt_save.json", {"a": ENTRY, "b": {}})
    assert read_published(file) == {
        "read/qa_2docs/a": PublishedQuestions(("在哪？", "几座？"), ("杭州", "无法推断")),
        "read/qa_2docs/b": PublishedQuestions((), ()),
    }


def test_custom_questions_file_has_whole_sample_ids(tmp_path: Path) -> None:
    assert set(read_published(write(tmp_path / "mine.json", {"qa/a": ENTRY}))) == {"qa/a"}


def test_questions_folder_contains_all_its_published_files(tmp_path: Path) -> None:
    for name in ("QuestAnswer3Docs", "HalluModified"):
        write(tmp_path / f"{name}_quest_gt_save.json", {"a": ENTRY})
    write(tmp_path / "notes.json", [])
    assert set(read_published(tmp_path)) == {"update/hallucination/a", "read/qa_3docs/a"}


def test_questions_hash_covers_file_names_and_contents(tmp_path: Path) -> None:
    first = write(tmp_path / "QuestAnswer1Doc_quest_gt_save.json", {"a": ENTRY})
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    write(moved / first.name, {"a": ENTRY})
    before = hash_published_files(first)
    assert before == hash_published_files(moved) == hash_published_files(moved / first.name)
    assert before != hash_published_files(write(moved / "HalluModified_quest_gt_save.json", {"a": ENTRY}))
    write(first, {"a": {}})
    assert hash_published_files(first) != before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "got a list"),
        ('{"a": []}', "entry 'a': got a list"),
        ('{"a": {"question": "q"}}', "got 'q', expected lists of strings"),
        ('{"a": {"question": ["q"], "answers": [null]}}', "got \\[None\\]"),
    ],
)
def test_malformed_question_files_are_rejected(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "f.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_published(file)


def test_missing_questions_file_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.json"):
        with pytest.raises(DataError, match="does not exist, expected a file with published questions"):
            question_files(path)


@pytest.mark.parametrize(
    ("subset", "n_entries", "n_empty", "n_differing", "n_cannot_infer"),
    [
        ("update/hallucination", 2000, 730, 10, 600),
        ("read/qa_1doc", 800, 0, 40, 269),
        ("read/qa_2docs", 800, 0, 18, 312),
        ("read/qa_3docs", 800, 0, 16, 296),
    ],
)
def test_published_question_files_have_the_expected_entries(
    published_questions: Path, subset: str, n_entries: int, n_empty: int, n_differing: int, n_cannot_infer: int
) -> None:
    entries = [entry for key, entry in read_published(published_questions).items() if key.startswith(f"{subset}/")]
    assert len(entries) == n_entries
    assert entries.count(PublishedQuestions((), ())) == n_empty
    assert sum(len(entry.questions) != len(entry.answers) for entry in entries) == n_differing
    assert sum(entry.answers.count("无法推断") for entry in entries) == n_cannot_infer
