import pytest

from components.generators.split_fuse import SplitFuse
from components.records import Answer, AnswerState, Passage, Request
from components.tokenizers.plain_words import PlainWords
from tests.contracts.generator_contract import GeneratorContract, Model, passage_numbers, render, task
from tests.runner.sweeping import compose_job

INSTRUCTION = "{question}\n{answers}"


def split(max_tokens: int) -> SplitFuse:
    """Counts words and the separators between them."""
    return SplitFuse("Fuse.", INSTRUCTION, max_tokens, PlainWords())


(N_TOKENS,) = {len(ends) for ends in PlainWords().token_ends([passage.text for passage in task(6).passages])}
"""Tokens of each passage of a task."""


class TestOfEachPassage(GeneratorContract):
    component = split(1)


class TestOfTwoPassages(GeneratorContract):
    component = split(2 * N_TOKENS)


class TestOfAll(GeneratorContract):
    component = split(10_000)
    n_passage_tokens = 10_000


@pytest.mark.parametrize(
    ("n_fit", "parts", "path"),
    [
        (6, [[1, 2, 3, 4, 5, 6]], "single"),
        (5, [[1, 2, 3], [4, 5, 6]], "2 parts"),
        (3, [[1, 2, 3], [4, 5, 6]], "2 parts"),
        (2, [[1, 2], [3], [4, 5], [6]], "4 parts"),
        (0, [[1], [2], [3], [4], [5], [6]], "6 parts"),
    ],
)
def test_split_fuse_halves_contexts_until_each_half_fits(n_fit: int, parts: list[list[int]], path: str) -> None:
    model = Model(lambda request: f"<{passage_numbers(request)}>")
    (made,) = split(max(n_fit * N_TOKENS, 1)).generate([task(6)], render, model)
    assert [passage_numbers(request) for request in model.calls[0]] == parts
    assert made.path == path
    assert len(model.asked) == 2 * len(parts) - 1


def test_split_fuse_joins_answers_from_the_smallest_parts_up() -> None:
    def letters(request: Request) -> str:
        return (
            {1: "a", 2: "b", 3: "c"}[passage_numbers(request)[0]]
            if passage_numbers(request)
            else f"fused {request.id[-1]}"
        )

    model = Model(letters)
    (made,) = split(1).generate([task(3)], render, model)
    fusions = [request for call in model.calls[1:] for request in call]
    assert [request.messages[-1].content.partition("\n")[2] for request in fusions] == [
        "(1) a\n(2) b",
        "(1) fused 2\n(2) c",
    ]
    assert {request.messages[0].content for request in fusions} == {"Fuse."}
    assert (made.answer.text, made.prompt) == ("fused 3", fusions[-1].messages)


def test_split_fuse_sends_samples_of_all_lengths_in_shared_rounds() -> None:
    model = Model()
    split(1).generate([task(1, "short"), task(4, "long"), task(0, "none")], render, model)
    assert [len(call) for call in model.calls] == [1 + 4 + 1, 2, 1]


def test_half_without_an_answer_keeps_the_other_answer() -> None:
    model = Model(lambda request: "" if 1 in passage_numbers(request) else "the other")
    (made,) = split(1).generate([task(2)], render, model)
    assert (made.answer.text, made.answer.state, made.answer.n_prompt_tokens) == ("the other", AnswerState.OK, 20)
    assert len(model.asked) == 2


def test_fusion_with_a_truncated_half_is_truncated() -> None:
    for text in ("half", ""):

        def cut(request: Request, text: str = text) -> str | Answer:
            return Answer(request.id, AnswerState.TRUNCATED, text) if 1 in passage_numbers(request) else "whole"

        (made,) = split(1).generate([task(2)], render, Model(cut))
        assert (made.answer.text, made.answer.state) == ("whole", AnswerState.TRUNCATED)


def test_passages_known_to_fit_are_planned_as_one_request() -> None:
    assert [split(100).n_requests(5, n_tokens) for n_tokens in (100, 101, None)] == [1, 9, 9]


def test_single_passage_is_never_split() -> None:
    model = Model()
    long = task(0)
    (made,) = split(1).generate([type(long)(long.sample, (Passage("passage 1 " * 50),))], render, model)
    assert (len(model.asked), made.path) == (1, "single")


def test_split_fuse_rejects_zero_tokens_and_a_missing_placeholder() -> None:
    assert SplitFuse("", "{question}", 0).check() == [
        "max_tokens: got 0, expected at least 1",
        "instruction: lacks the placeholder {answers}",
    ]


def test_fusion_prompt_has_the_language_of_the_cell() -> None:
    chinese, english = (
        compose_job("generator=split_fuse", f"language={language}").config["generator"] for language in ("zh", "en")
    )
    assert "合并" in chinese["system"]
    assert "join" in english["system"]
    assert chinese["max_tokens"] == english["max_tokens"] == 32_000
