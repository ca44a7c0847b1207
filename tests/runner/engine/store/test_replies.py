"""What is written down of answers, and read again."""

from pathlib import Path

from runner.engine.journal import journalled, read_journal

from components.records import Answer, AnswerState


def answer(number: int, text: str = "so") -> Answer:
    return Answer(str(number), AnswerState.OK, text)


def test_answers_are_passed_on_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert list(journalled([answer(1), answer(2)], path)) == [answer(1), answer(2)]
    assert list(journalled([answer(3)], path)) == [answer(3)]
    assert list(read_journal(path)) == [answer(1), answer(2), answer(3)]


def test_failed_answers_are_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    list(journalled([Answer("1", AnswerState.ERROR, error="no"), answer(2)], path))
    assert list(read_journal(path)) == [answer(2)]


def test_what_another_process_left_of_a_line_takes_no_other_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    answers = journalled([answer(1), answer(2)], path)
    next(answers)
    with path.open("ab") as killed:
        killed.write(b'{"request_id": "9", "sta')
    next(answers)
    answers.close()
    assert list(read_journal(path)) == [answer(1), answer(2)]


def test_half_a_character_becomes_one_that_a_file_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    (passed,) = journalled([answer(1, "so \ud83d \ud83d\ude00")], path)
    assert passed.text == "so \ufffd \U0001f600"
    assert list(read_journal(path)) == [passed]
