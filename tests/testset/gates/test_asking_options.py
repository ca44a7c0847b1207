"""The options of the gates that ask a model: built with their wordings, in every language."""

import pytest

from components.testset.protocols import DraftGate
from tests.testset.composed import built, options

NAMES = (
    "same_topic",
    "self_contained",
    "answerable",
    "supported",
    "closed_book",
    "each_document",
    "single_answer",
    "inspection",
)


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_every_asking_gate_has_its_option(language: str) -> None:
    gates = options(language)["gates"]
    assert tuple(gates)[-len(NAMES) :] == NAMES
    for node in (gates[name] for name in NAMES):
        gate = built(node, DraftGate)
        assert 1 <= gate.n_requests <= 8
        wordings = [part for part in node.values() if isinstance(part, dict) and "instruction" in part]
        assert wordings
        for wording in wordings:
            assert '{"' in wording["instruction"]
            assert ("只输出一个 JSON 对象" in wording["instruction"]) == (language == "zh")
            assert ("one JSON object and nothing else" in wording["instruction"]) == (language != "zh")
