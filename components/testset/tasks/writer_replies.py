"""Parsing of a writer's reply."""

import re
from collections.abc import Mapping, Sequence

from components.asking.model_reply import json_values, parse_whole_number
from components.json_value import Json
from components.testset.records import Quote

Reply = Mapping[str, Json]

_NUMBERS = re.compile(r"(\d{1,9})(?:\s*[-–~～至到]\s*(\d{1,9}))?")
_MAX_RANGE_LENGTH = 100


def read_reply(text: str, key: str) -> Reply | str | None:
    """Return the object that has a value under `key`, or the reason why the writer declined; None for any other reply.

    A reply contains text of documents, which may say anything. Unlike a judgement, it is therefore not withdrawn by
    words such as "I cannot tell".
    """
    for value in json_values(text):
        if isinstance(value, dict) and value.get(key):
            return value
        if isinstance(value, dict) and value.get("not_applicable"):
            return text_in(value, "not_applicable") or text_in(value, "reasoning") or "no reason given"
    return None


def text_in(reply: object, key: str) -> str:
    """Return a string without surrounding whitespace, or a number as a string; "" for anything else, including no
    object.
    """
    value = reply.get(key) if isinstance(reply, Mapping) else None
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def select_notes(reply: Reply, keys: Sequence[str]) -> dict[str, str]:
    """Return those values of the reply under `keys` that are strings or lists."""
    notes = {}
    for key in keys:
        value = reply.get(key)
        text = "\n".join(map(str, value)) if isinstance(value, list) else text_in(reply, key)
        if text.strip():
            notes[key] = text
    return notes


def parse_quotes(reply: object) -> tuple[Quote, ...]:
    """Return the quotes under "evidence": sentence numbers as numbers, lists or strings such as "[3]", with or without
    words.
    """
    cited = reply.get("evidence") if isinstance(reply, Mapping) else None
    quotes = [_quote(item) for item in (cited if isinstance(cited, list) else [cited])]
    return tuple(quote for quote in quotes if quote.sentences or quote.text)


def _quote(item: object) -> Quote:
    if not isinstance(item, Mapping):
        return Quote(_numbers(item))
    sentences = _numbers(item.get("sentences", item.get("sentence")))
    return Quote(sentences, text_in(item, "quote"))


def _numbers(value: object) -> tuple[int, ...]:
    """Return the distinct numbers of sentences, in order; "3-5" gives three."""
    texts = value if isinstance(value, list) else [value]
    numbers: dict[int, None] = {}
    for text in texts:
        if (number := parse_whole_number(text)) is not None:  # -3 too, which is not the third sentence
            numbers[number] = None
            continue
        for first, last in _NUMBERS.findall(str(text)) if isinstance(text, int | str) else []:
            end = min(int(last or first), int(first) + _MAX_RANGE_LENGTH)
            numbers |= dict.fromkeys(range(int(first), end + 1) or [int(first), int(last)])
    return tuple(numbers)
