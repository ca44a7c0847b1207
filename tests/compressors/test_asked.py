"""Sentences that a language model selects."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from components.compressors.asked import SentencesByModel
from components.compressors.none import NoCompressor
from components.llms.scripted import Scripted
from components.protocols import AskingCompressor, Compressor, UnchangedPassages
from components.records import Answer, AnswerState, Request
from tests.contracts.component_contract import ComponentContract
from tests.contracts.compressor_contract import AskingCompressorContract


def make_compressor(**fields: Any) -> SentencesByModel:
    own = {"llm": Scripted(), "system": "", "instruction": "{question}\n{sentences}\n{n}", "reminder": "Once more."}
    return SentencesByModel(**{**own, **fields})


class TestSentencesByModel(AskingCompressorContract):
    component = make_compressor()

    def reply(self, request: Request) -> str:
        return '{"sentences": [1]}'


class TestNoCompressor(ComponentContract):
    component = NoCompressor()

    def test_none_compressor_implements_only_its_own_protocol(self) -> None:
        assert isinstance(self.component, UnchangedPassages)
        assert not isinstance(self.component, Compressor | AskingCompressor)


PASSAGES = ["One is red. Two\nis blue. ", "Three is old."]


def selected(*replies: str, **fields: Any) -> tuple[list[str], list[Request], str]:
    """The texts that remain, the requests, and why the reply was not read."""
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> list[Answer]:
        asked.extend(requests)
        return [Answer(request.id, AnswerState.OK, replies[len(asked) - 1]) for request in requests]

    (own,) = make_compressor(**fields).compress_by_asking(["q"], [PASSAGES], ask)
    texts = ["".join(text[a:b] for a, b in pieces) for pieces, text in zip(own.pieces, PASSAGES, strict=True)]
    return texts, asked, own.unread


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([1], ["One is red. ", ""]),
        ([4, 2, 4], ["Two\n", "Three is old."]),
        ([2, 3], ["Two\nis blue. ", ""]),
        ([], ["", ""]),
        (["3", 1.0], ["One is red. is blue. ", ""]),
    ],
)
def test_selected_sentences_keep_their_order(numbers: list[object], expected: list[str]) -> None:
    texts, asked, unread = selected(json.dumps({"sentences": numbers}))
    assert (texts, unread) == (expected, "")
    assert asked[0].messages[-1].content == "q\n[1] One is red.\n[2] Two\n[3] is blue.\n[4] Three is old.\n4"


@pytest.mark.parametrize(
    "wrong", ['{"sentences": [5]}', '{"sentences": [0]}', '{"sentences": "1"}', "1, 2", '{"x": [1]}']
)
def test_unreadable_selection_is_retried_then_keeps_all_text(wrong: str) -> None:
    texts, asked, unread = selected(wrong, '{"sentences": [4]}', max_attempts=2)
    assert texts == ["", "Three is old."]
    assert asked[1].messages[-1].content == "Once more."
    texts, asked, unread = selected(wrong, wrong, max_attempts=2)
    assert (texts, len(asked)) == (PASSAGES, 2)
    assert "cannot be read" in unread


def test_asking_compressor_rejects_missing_placeholders_and_zero_attempts() -> None:
    assert make_compressor(instruction="{question}").check() == ["instruction: lacks the placeholder {sentences}"]
    assert make_compressor(max_attempts=0).check()
