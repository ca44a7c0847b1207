import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import DataError
from components.fields import is_runtime_only
from components.judges.quest_eval import QuestEval
from components.judges.quest_eval_scores import NAMES
from components.llms.scripted import Scripted
from components.records import JudgeInput, Judgements, Kind, Request, Sample, ScoreState
from tests.contracts.judge_contract import JudgeContract, ScriptedJudge, failed

METRIC = QuestEval(
    llm=Scripted(),
    system="系统",
    question_prompt="提问：{text}",
    answer_prompt="回答：{text}\n{questions}\n否则写{cannot_infer}",
    reminder="请重答",
    cannot_infer=("无法推断", "未提及"),
    max_attempts=3,
)


def reply(request: Request) -> str:
    """Ask for the city and the content. Answer with the city if the text names it, and with the first characters."""
    text = request.messages[1].content
    if text.startswith("提问"):
        return '{"key_info": ["x"], "questions": ["哪座城市？", "说了什么？"]}'
    half = text.removeprefix("回答：").split("\n1. ")[0][:3]
    city = "杭州" if "杭州" in text else "无法推断"
    answers = [{"number": 2, "answer": half or "无"}, {"number": 1, "answer": city}]
    return json.dumps({"answers": answers}, ensure_ascii=False)


class TestQuestEval(JudgeContract):
    metric = METRIC

    def reply(self, request: Request) -> str:
        return reply(request)


ITEM = JudgeInput(Sample("read/qa_1doc/a", "read/qa_1doc", Kind.QA, "？", ("西湖在杭州。", "春天去。")), "在杭州", ())


def outcomes(judgements: Judgements) -> list[float | ScoreState]:
    """The four outcomes of a single sample, in the order of NAMES."""
    return [
        float(scores.values[0]) if scores.states[0] is ScoreState.VALUE else scores.states[0]
        for scores in judgements.scores.values()
    ]


def published(folder: Path, **entries: object) -> QuestEval:
    """A metric that takes questions from a file."""
    file = folder / "QuestAnswer1Doc_quest_gt_save.json"
    file.write_text(json.dumps(entries), encoding="utf-8")
    return replace(METRIC, questions_file=str(file))


def test_quest_eval_questions_are_prepared_once_from_references() -> None:
    ask = ScriptedJudge(reply)
    preparation = METRIC.prepare([ITEM.sample], ask)
    assert [request.messages[1].content for request in ask.requests] == [
        "提问：西湖在杭州。\n春天去。",
        "回答：西湖在杭州。\n春天去。\n1. 哪座城市？\n2. 说了什么？\n否则写无法推断",
    ]
    assert preparation == {
        ITEM.sample.id: {
            "state": "value",
            "reason": "2 questions (asked for), 0 without an answer in the reference",
            "questions": ["哪座城市？", "说了什么？"],
            "answers": ["杭州", "西湖在"],
            "n_unanswerable": 0,
        }
    }


def test_quest_eval_asks_the_generated_text_the_same_questions() -> None:
    preparation = METRIC.prepare([ITEM.sample], ScriptedJudge(reply))
    ask = ScriptedJudge(lambda _: '{"1": "杭州", "2": "未提及"}')
    judgements = METRIC.judge([ITEM], preparation, ask)
    assert [request.messages[1].content for request in ask.requests] == [
        "回答：在杭州\n1. 哪座城市？\n2. 说了什么？\n否则写无法推断"
    ]
    assert outcomes(judgements) == [1.0, 0.5, 0.5, 1.0]
    assert judgements.remarks[0].splitlines() == [
        "2 questions (asked for), 0 without an answer in the reference",
        "1. 哪座城市？ | 杭州 | 杭州",
        "2. 说了什么？ | 西湖在 | 未提及",
    ]


def test_missing_quest_eval_answer_is_requested_again() -> None:
    preparation = METRIC.prepare([ITEM.sample], ScriptedJudge(reply))
    script = iter(['{"2": "西湖在"}', '{"2": "西湖在", "1": "杭州"}'])
    judgements = METRIC.judge([ITEM], preparation, ScriptedJudge(lambda _: next(script)))
    assert outcomes(judgements) == [1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("answer", ["", " \n"])
def test_quest_eval_scores_an_empty_answer_zero_without_a_request(answer: str) -> None:
    preparation = METRIC.prepare([ITEM.sample], ScriptedJudge(reply))
    ask = ScriptedJudge(failed)
    judgements = METRIC.judge([replace(ITEM, answer=answer)], preparation, ask)
    assert ask.calls == []
    assert outcomes(judgements) == [ScoreState.NOT_APPLICABLE, 0.0, 0.0, 0.0]


def test_quest_eval_reference_without_questions_is_not_applicable() -> None:
    ask = ScriptedJudge(lambda _: '{"key_info": [], "questions": []}')
    preparation = METRIC.prepare([ITEM.sample], ask)
    assert len(ask.requests) == 1
    assert outcomes(METRIC.judge([ITEM], preparation, ask)) == [ScoreState.NOT_APPLICABLE] * 4


def test_failed_and_unreadable_reference_answers_keep_their_state() -> None:
    for answering, state in ((failed, ScoreState.FAILED), (lambda _: '{"1": "杭州"}', ScoreState.UNPARSABLE)):
        ask = ScriptedJudge(lambda r, a=answering: reply(r) if "提问" in r.messages[1].content else a(r))
        preparation = METRIC.prepare([ITEM.sample], ask)
        judgements = METRIC.judge([ITEM], preparation, ScriptedJudge(reply))
        assert outcomes(judgements) == [state] * 4
        assert judgements.remarks[0].startswith("reference answers: ")


class TestPublishedQuestions:
    def test_published_questions_are_used_without_requests(self, tmp_path: Path) -> None:
        metric = published(tmp_path, a={"question": ["在哪？", "谁？"], "answers": ["杭州", "无法推断。"]})
        ask = ScriptedJudge(failed)
        (entry,) = metric.prepare([ITEM.sample], ask).values()
        assert ask.calls == []
        assert (entry["questions"], entry["answers"], entry["n_unanswerable"]) == (
            ["在哪？", "谁？"],
            ["杭州", "无法推断。"],
            1,
        )

    @pytest.mark.parametrize(
        ("entry", "reason"),
        [
            ({}, "the published entry is empty"),
            ({"question": ["在哪？"], "answers": []}, "the published entry has 1 questions and 0 answers"),
        ],
    )
    def test_unusable_published_question_entries_are_left_out(self, tmp_path: Path, entry: object, reason: str) -> None:
        metric, ask = published(tmp_path, a=entry), ScriptedJudge(failed)
        judgements = metric.judge([ITEM], metric.prepare([ITEM.sample], ask), ask)
        assert ask.calls == []
        assert outcomes(judgements) == [ScoreState.NOT_APPLICABLE] * 4
        assert judgements.remarks == [reason]

    def test_quest_eval_writes_questions_only_for_unpublished_samples(self, tmp_path: Path) -> None:
        metric, ask = published(tmp_path, a={"question": ["在哪？"], "answers": ["杭州"]}), ScriptedJudge(reply)
        other = replace(ITEM.sample, id="read/qa_1doc/b")
        preparation = metric.prepare([other, ITEM.sample], ask)
        assert {request.sample.id for request in ask.requests} == {other.id}
        assert [len(preparation[an_id]["questions"]) for an_id in (ITEM.sample.id, other.id)] == [1, 2]

    def test_questions_file_without_any_sample_is_an_error(self, tmp_path: Path) -> None:
        metric = published(tmp_path, b={})
        with pytest.raises(DataError, match=r"has none of the 1 samples, e\.g\. 'read/qa_1doc/a'.*'read/qa_1doc/b'"):
            metric.prepare([ITEM.sample], ScriptedJudge(reply))

    def test_questions_file_is_identified_by_its_content(self, tmp_path: Path) -> None:
        fields = QuestEval.__dataclass_fields__
        assert [name for name, field in fields.items() if is_runtime_only(field)] == ["questions_file"]
        first = published(tmp_path, a={}).content_hash()
        assert len(first) == 64
        assert first != published(tmp_path, a={}, b={}).content_hash()
        assert METRIC.content_hash() == ""

    def test_published_question_files_have_the_expected_usable_entries(self, published_questions: Path) -> None:
        """The usable entries of each subset."""
        metric = replace(METRIC, questions_file=str(published_questions))
        ids = [
            f"{subset}/{key}"
            for file, subset in (("HalluModified", "update/hallucination"), ("QuestAnswer1Doc", "read/qa_1doc"))
            for key in json.loads((published_questions / f"{file}_quest_gt_save.json").read_bytes())
        ]
        preparation = metric.prepare([replace(ITEM.sample, id=an_id) for an_id in ids], ScriptedJudge(failed))
        counts = Counter((an_id.rpartition("/")[0], entry["state"]) for an_id, entry in preparation.items())
        assert counts == {
            ("update/hallucination", "value"): 1260,
            ("update/hallucination", "not_applicable"): 740,
            ("read/qa_1doc", "value"): 760,
            ("read/qa_1doc", "not_applicable"): 40,
        }


def test_quest_eval_names_its_metrics() -> None:
    assert METRIC.names == NAMES
    assert METRIC.reads_answers


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"question_prompt": "提问"}, "question_prompt: lacks the placeholder {text}"),
        ({"answer_prompt": "{text}{cannot_infer}"}, "answer_prompt: lacks the placeholder {questions}"),
        ({"cannot_infer": ()}, "cannot_infer: got []"),
        ({"cannot_infer": ("无法推断", " ")}, "none empty"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
        (
            {"questions_file": "nowhere.json"},
            "questions_file: nowhere.json: does not exist, expected a file with published questions",
        ),
    ],
)
def test_quest_eval_rejects_invalid_settings(changes: dict[str, object], problem: str) -> None:
    (found,) = replace(METRIC, **changes).check()
    assert problem in found
