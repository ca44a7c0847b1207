from components.generators.refine import Refine
from components.records import Answer, AnswerState, Request
from tests.contracts.generator_contract import GeneratorContract, Model, passage_numbers, render, task
from tests.runner.sweeping import compose_job

REFINE = Refine("{prompt}\nSo far: {answer}")


class TestRefine(GeneratorContract):
    component = REFINE


def test_refine_shows_each_passage_with_the_answer_so_far() -> None:
    model = Model(lambda request: f"after {passage_numbers(request)}")
    (made,) = REFINE.generate([task(3)], render, model)
    contents = [request.messages[-1].content for request in model.asked]
    assert [content.partition("\nSo far: ")[2] for content in contents] == ["", "after [1]", "after [2]"]
    assert all(request.messages[0].content == "Be kind." for request in model.asked)
    assert (made.answer.text, made.path) == ("after [3]", "3 passages")
    assert made.prompt == model.asked[-1].messages


def test_refine_keeps_the_previous_answer_if_a_reply_is_empty() -> None:
    model = Model(lambda request: "" if passage_numbers(request) in ([1], [3]) else f"after {passage_numbers(request)}")
    (made,) = REFINE.generate([task(4)], render, model)
    assert [("So far" in request.messages[-1].content) for request in model.asked] == [False, False, True, True]
    assert (made.answer.text, made.answer.state) == ("after [4]", AnswerState.OK)
    (refined,) = REFINE.generate([task(3)], render, model)
    assert (refined.answer.text, refined.answer.n_prompt_tokens) == ("after [2]", 30)


def test_refine_marks_the_result_truncated_after_a_truncated_step() -> None:
    def cut(request: Request) -> str | Answer:
        return Answer(request.id, AnswerState.TRUNCATED, "half") if passage_numbers(request) == [2] else "whole"

    (made,) = REFINE.generate([task(3)], render, Model(cut))
    assert (made.answer.text, made.answer.state) == ("whole", AnswerState.TRUNCATED)


def test_refine_stops_after_a_failed_request() -> None:
    model = Model(lambda request: Answer(request.id, AnswerState.ERROR, error="broken"))
    REFINE.generate([task(5)], render, model)
    assert len(model.asked) == 1


def test_refine_rejects_an_instruction_without_the_answer() -> None:
    assert Refine("{prompt}").check() == ["instruction: lacks the placeholder {answer}"]


def test_refine_instruction_has_the_language_of_the_cell() -> None:
    chinese, english, german = (
        compose_job("generator=refine", f"language={language}").config["generator"]["instruction"]
        for language in ("zh", "en", "de")
    )
    assert "目前的答案" in chinese
    assert "the answer is" in english
    assert german == english
