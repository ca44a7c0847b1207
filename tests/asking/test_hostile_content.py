"""Parsing of hostile replies: no parser raises or takes minutes."""

import random
import time
from collections.abc import Callable, Iterator

import pytest

from components.asking.model_reply import json_values, parse_flag, parse_whole_number, read_object
from components.fact_graph.fact_replies import read_facts
from components.judges.answer_relevancy import read_derived
from components.judges.claim_replies import read_claims, read_verdicts
from components.judges.context_relevance import read_sentence_numbers
from components.judges.graded_replies import read_applicability, read_verdict
from components.judges.nuggets import read_assignments, read_nuggets
from components.judges.quest_eval_inquiries import read_answers, read_questions
from components.rerankers.listwise import read_ranking

GOOD = '{"reason": "because", "grade": 2, "questions": ["a", "b"], "answers": ["x"], "ranking": [1, 2, 3]}'
NAMES = ("grade", "applicable", "questions", "answers", "ranking", "claims", "verdicts", "sentences", "facts")
VALUES = ("null", "[null]", "[[1]]", '{"a": 1}', '"x"', "[{}]", "[5]", "NaN", "-Infinity", "1e999", '[{"answer": [1]}]')
SIGNS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    ",",
    ":",
    "\\",
    "\n",
    "'",
    "0",
    "-",
    ".",
    "null",
    "#",
    "`",
    "\0",
    "\\ud83d",
    "｛",
    "<think>",
]
MAX_SECONDS = 20.0
"""Limit for a busy machine; the slowest case takes less than 2 s."""

READERS: dict[str, Callable[[str], object]] = {
    "values": json_values,
    "object": lambda text: read_object(text, "grade"),
    "numbers": lambda text: [parse_whole_number(value.get("grade")) for value in objects(text)],
    "flags": lambda text: [parse_flag(value.get("grade")) for value in objects(text)],
    "verdict": lambda text: read_verdict(text, (0, 1, 2)),
    "applicability": read_applicability,
    "questions": read_questions,
    "answers": lambda text: read_answers(text, 2),
    "claims": lambda text: read_claims(text, ""),
    "verdicts": lambda text: read_verdicts(text, 2),
    "nuggets": lambda text: read_nuggets(text, ""),
    "assignments": lambda text: read_assignments(text, 2),
    "facts": lambda text: read_facts(text, "", 50),
    "derived": lambda text: read_derived(text, 2, ""),
    "sentences": lambda text: read_sentence_numbers(text, 4),
    "ranking": lambda text: read_ranking(text, 3),
}


def objects(text: str) -> list[dict[str, object]]:
    return [value for value in json_values(text) if isinstance(value, dict)]


def hostile_texts() -> Iterator[str]:
    for opener, closer in (("[", "]"), ("{", "}"), ('{"a":', "}"), ('{"grade":[', "]}")):
        for n in (99, 101, 900, 10_000):
            yield from (opener * n, opener * n + closer * n, f'{{"grade": {opener * n}{closer * n}}}')
            yield closer * n + opener * n
        yield (opener + closer) * 500
    for long in (
        "9" * 10_000,
        '"' * 10_000,
        "{'grade': '" * 3_000,
        "\\" * 10_000,
        "grade: " * 1_000,
        "{" + "," * 5_000,
        "(" * 20_000,
    ):
        yield from (long, f'{{"grade": {long}}}')
    yield '{"grade": 1}' + "<" * 100_000
    for name in NAMES:
        yield from (f'{{"{name}": {value}}}' for value in VALUES)
    drawn = random.Random(1)
    for _ in range(100):
        text = list(GOOD)
        for _ in range(drawn.randint(1, 8)):
            place = drawn.randrange(len(text))
            text[place : place + drawn.randint(0, 2)] = [drawn.choice(SIGNS)]
        yield "".join(text)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_readers_neither_raise_nor_hang_on_hostile_texts(read: Callable[[str], object]) -> None:
    for text in hostile_texts():
        started = time.monotonic()
        read(text)
        assert time.monotonic() - started < MAX_SECONDS, text[:50]


def test_reply_nested_too_deeply_is_not_read() -> None:
    assert read_object('{"grade": 2, "x": ' + "[" * 101 + "]" * 101 + "}", "grade") is None
    assert read_object('{"grade": 2, "x": ' + "[" * 99 + "]" * 99 + "}", "grade") is not None
