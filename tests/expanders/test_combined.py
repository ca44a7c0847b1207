"""Several query variants together."""

import pytest

from components.expanders.combined import Combined
from components.expanders.history import ConversationHistory
from components.expanders.none import NoExpander
from components.llms.scripted import Scripted
from components.protocols import Expander
from tests.contracts.expander_contract import ExpanderContract

KNOWN: dict[str, Expander] = {"original": NoExpander(), "same": NoExpander(), "history": ConversationHistory()}


def combined(*use: str) -> Combined:
    return Combined(Scripted(), KNOWN, use)


class TestCombined(ExpanderContract):
    component = combined("history", "original")


def test_combined_expander_flattens_variants_in_order_of_use() -> None:
    assert combined("history", "original", "same").variants == (ConversationHistory(), NoExpander())


@pytest.mark.parametrize(
    ("use", "problem"),
    [
        (("original", "hyde"), "use: got 'hyde', expected one of original, same, history"),
        ((), "use: got [], expected at least one name, each once"),
        (("original", "original"), "use: got ['original', 'original'], expected at least one name, each once"),
    ],
)
def test_combined_expander_rejects_unknown_empty_and_repeated_names(use: tuple[str, ...], problem: str) -> None:
    assert combined(*use).check() == [problem]
