"""Queries that a language model writes."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import conf
from components.expanders.written import WrittenQueries
from components.llms.scripted import Scripted
from components.protocols import AskedVariant
from components.records import Answer, AnswerState, Expansion, Request, Sample
from components.text.languages import detect_language
from tests.contracts.asked_variant_contract import AskedVariantContract
from tests.contracts.expander_contract import PLAIN, TALK
from tests.runner.sweeping import compose_job, small_request

CONF = Path(conf.__file__).parent / "expander"
OPTIONS = ("keywords", "paraphrase", "hypothetical_document", "decomposition", "step_back", "rewrite")


def written(**fields: Any) -> WrittenQueries:
    own = {"llm": Scripted(), "system": "", "instruction": "{n}: {question}", "reminder": "Once more."}
    return WrittenQueries(**{**own, **fields})


class TestContract(AskedVariantContract):
    component: AskedVariant = written(n_texts=2)

    def reply(self, request: Request) -> str:
        return '{"texts": ["one", "two"]}'


class TestContractOfRewriting(TestContract):
    component = written(only_in_conversations=True, reranker_reads=True)


class TestContractOfKeywords(TestContract):
    component = written(n_texts=8, joined=True, with_question=True)


def queries(variant: WrittenQueries, reply: str, sample: Sample = PLAIN) -> tuple[str, ...]:
    """Return the queries that result from a reply."""
    (expansion,) = variant.write([sample], lambda requests: [Answer(requests[0].id, AnswerState.OK, reply)])
    assert not expansion.unread
    return expansion.queries


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"n_texts": 3}, ("a b", "c")),
        ({"n_texts": 1}, ("a b",)),
        ({"n_texts": 3, "joined": True}, ("a b c a b",)),
        ({"n_texts": 3, "with_question": True}, ("谁获了奖？\na b", "谁获了奖？\nc")),
        ({"n_texts": 3, "joined": True, "with_question": True}, ("谁获了奖？\na b c a b",)),
    ],
)
def test_written_texts_become_separate_queries_or_one_joined_query(
    fields: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert queries(written(**fields), json.dumps({"texts": [" a b ", "c", "", "a b", "d"]})) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('```json\n{"texts": ["a"]}\n```', ("a",)),
        ('<think>{"texts": ["no"]}</think>{"texts": ["a", "b"]}', ("a", "b")),
        ('{"texts": ["", "a", 7]}', ("a",)),
        ('{"texts": []}', None),
        ('{"texts": "a"}', None),
        ('{"queries": ["a"]}', None),
        ("a, b", None),
        ("", None),
    ],
)
def test_unreadable_replies_fall_back_to_the_question(reply: str, expected: tuple[str, ...] | None) -> None:
    def ask(requests: Sequence[Request]) -> list[Answer]:
        return [Answer(request.id, AnswerState.OK, reply) for request in requests]

    (expansion,) = written(n_texts=2).write([PLAIN], ask)
    assert expansion.queries == (expected or (PLAIN.question,))
    assert bool(expansion.unread) == (expected is None)


@pytest.mark.parametrize("fields", [{"n_texts": 1}, {"n_texts": 8, "joined": True}])
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The bridge [1] was opened\nin 1932.", ("The bridge [1] was opened\nin 1932.",)),
        ("<think>Hm.</think>\n```\nbridge, opening, year\n```", ("bridge, opening, year",)),
        ('{"queries": ["a"]}', (PLAIN.question,)),
        ('["a", "b"]', (PLAIN.question,)),
        ("<think>Hm.</think>", (PLAIN.question,)),
    ],
)
def test_plain_text_reply_is_accepted_for_one_query(
    fields: dict[str, Any], reply: str, expected: tuple[str, ...]
) -> None:
    (expansion,) = written(**fields, takes_plain_text=True).write(
        [PLAIN], lambda requests: [Answer(requests[0].id, AnswerState.OK, reply)] * len(requests)
    )
    assert expansion.queries == expected
    assert bool(expansion.unread) == (expected == (PLAIN.question,))


def test_plain_text_reply_is_rejected_for_several_queries() -> None:
    def ask(requests: Sequence[Request]) -> list[Answer]:
        return [Answer(request.id, AnswerState.OK, "a, b") for request in requests]

    for variant in (written(n_texts=2, takes_plain_text=True), written(n_texts=1)):
        assert variant.write([PLAIN], ask)[0].unread


@pytest.mark.parametrize(("option", "is_taken"), [("hyde", True), ("keywords", True), ("rewrite", False)])
def test_only_some_expander_options_accept_plain_text(option: str, is_taken: bool) -> None:
    expander = compose_job(f"expander={option}", "llm=scripted").config["expander"]
    assert expander.get("takes_plain_text", False) == is_taken


def test_string_in_place_of_a_list_is_a_single_query() -> None:
    assert queries(written(), '{"texts": " a b "}') == ("a b",)
    assert queries(written(n_texts=8, joined=True), '{"texts": "a, b"}') == ("a, b",)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_copied_reply_form_is_not_a_query(option: str, language: str) -> None:
    wording = yaml.safe_load((CONF / option / f"{language}.yaml").read_text(encoding="utf-8"))
    form = wording["instruction"].splitlines()[-1]

    def ask(requests: Sequence[Request]) -> list[Answer]:
        return [Answer(request.id, AnswerState.OK, form) for request in requests]

    (expansion,) = written(**wording, n_texts=4).write([PLAIN], ask)
    assert expansion.queries == (PLAIN.question,)
    assert expansion.unread


@pytest.mark.parametrize("option", ["keywords", "hypothetical_document"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_copied_prompt_question_is_not_a_query(option: str, language: str) -> None:
    """SmolLM2 continues in the form of the prompt."""
    wording = yaml.safe_load((CONF / option / f"{language}.yaml").read_text(encoding="utf-8"))
    heading = wording["instruction"].splitlines()[0]

    def ask(requests: Sequence[Request]) -> list[Answer]:
        return [Answer(request.id, AnswerState.OK, f"{heading}\nWho won?\n\nThe answer:\n2025") for request in requests]

    (expansion,) = written(**wording, takes_plain_text=True).write([PLAIN], ask)
    assert expansion.queries == (PLAIN.question,)
    assert "Who won?" in expansion.unread


def test_placeholder_texts_are_dropped_from_a_reply() -> None:
    own = written(instruction='{question} {"texts": ["keyword", ...]}', n_texts=3)
    assert queries(own, '{"texts": ["keyword", "bridge", "..."]}') == ("bridge",)


def test_unreadable_expansion_is_requested_again() -> None:
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        return [Answer(requests[0].id, AnswerState.OK, '{"texts": ["a"]}' if len(asked) == 2 else '{"texts": []}')]

    assert written().write([PLAIN], ask) == [Expansion(("a",))]
    assert [message.content for message in asked[1].messages[1:]] == ['{"texts": []}', "Once more."]


@pytest.mark.parametrize(("n_turns", "shown"), [(0, ["后一年呢？"]), (2, ["来了几人？", "都是谁？", "后一年呢？"])])
def test_expander_request_shows_questions_of_earlier_turns(n_turns: int, shown: list[str]) -> None:
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        return [Answer(requests[0].id, AnswerState.ERROR, error="x")]

    written(n_turns=n_turns).write([TALK], ask)
    assert asked[0].messages[0].content == "1: " + "\n".join(shown)


def test_question_of_several_lines_is_shown_on_one_line() -> None:
    """The wordings say that the last line is the question, and that the others are earlier ones."""
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        return [Answer(requests[0].id, AnswerState.ERROR, error="x")]

    (expansion,) = written().write([replace(PLAIN, question="Who won?\n\nIn which year?")], ask)
    assert asked[0].messages[0].content == "1: Who won? In which year?"
    assert expansion.queries == ("Who won?\n\nIn which year?",)


def test_question_without_earlier_turns_is_not_rewritten() -> None:
    def ask(requests: Sequence[Request]) -> list[Answer]:
        return [Answer(request.id, AnswerState.OK, '{"texts": ["alone"]}') for request in requests]

    found = written(only_in_conversations=True).write([PLAIN, TALK], ask)
    assert found == [Expansion((PLAIN.question,), is_asked=False), Expansion(("alone",))]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"n_texts": 0}, "n_texts: got 0, expected at least 1"),
        ({"n_turns": -1}, "n_turns: got -1, expected at least 0"),
        ({"max_attempts": 0}, "max_attempts: got 0"),
        ({"instruction": "{n}"}, "instruction: lacks the placeholder {question}"),
        (
            {"instruction": "{question} {history}"},
            "instruction: unknown placeholder {history}, expected only {question} and {n}",
        ),
        ({"n_texts": 2, "reranker_reads": True}, "reranker_reads: got true for up to 2 queries"),
    ],
)
def test_written_queries_reject_invalid_settings(fields: dict[str, Any], problem: str) -> None:
    (found,) = written(**fields).check()
    assert found.startswith(problem)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_expander_option_has_chinese_and_english_wordings(option: str) -> None:
    for language in ("zh", "en"):
        wording = yaml.safe_load((CONF / option / f"{language}.yaml").read_text(encoding="utf-8"))
        assert wording.keys() == {"system", "instruction", "reminder"}
        assert WrittenQueries(Scripted(), **wording).check() == []
        assert (detect_language([wording["instruction"]]) == "zh") == (language == "zh")
        assert '{"texts": [' in wording["instruction"]


def test_expander_wording_follows_the_language() -> None:
    zh, en, de = (
        compose_job("expander=keywords", "llm=scripted", f"language={language}").config["expander"]
        for language in ("zh", "en", "de")
    )
    assert de == en
    assert {name for name in en if en[name] != zh[name]} == {"system", "instruction", "reminder"}


def test_expander_uses_the_cells_model_or_a_separate_model() -> None:
    own = small_request("expander=keywords", "llm=scripted", "llm.reply=Yes").cell
    assert own.expander.variants[0].llm == own.llm == Scripted(reply="Yes")  # type: ignore[union-attr]
    choice = ("+llm@expander.llm=scripted", "expander.llm.reply=No")
    for expander in ("keywords", "combined"):
        cell = small_request(f"expander={expander}", *choice).cell
        assert cell.expander.variants[-1].llm == Scripted(reply="No")  # type: ignore[union-attr]
