"""The contract of every source of a conversation's earlier answers."""

from dataclasses import replace

from components.protocols import History
from components.records import Sample, Turn
from tests.contracts.component_contract import ComponentContract
from tests.contracts.expander_contract import PLAIN

ASKED = ("Who?", "When?", "Why?")


def talk(*questions: str, name: str = "talk") -> list[Sample]:
    """A sample for each turn, with the turns before it."""
    turns = [Turn(question, f"gold of {question}") for question in questions]
    return [
        replace(PLAIN, id=f"{name}{n}", question=turn.question, references=(turn.answer,), history=tuple(turns[:n]))
        for n, turn in enumerate(turns)
    ]


class HistoryContract(ComponentContract):
    """Contract of histories."""

    component: History

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, History)

    def test_history_turns_wait_for_all_earlier_turns_or_for_none(self) -> None:
        samples = [PLAIN, *reversed(talk(*ASKED))]
        found = self.component.earlier_turns(samples)
        waited_for = [() if not own else tuple(samples[row].question for row in own) for own in found]
        assert waited_for in ([(), ASKED[:2], ASKED[:1], ()], [()] * 4)
        assert any(waited_for) == self.component.has_rounds

    def test_empty_batch_of_samples_gives_an_empty_result(self) -> None:
        assert self.component.earlier_turns([]) == []
