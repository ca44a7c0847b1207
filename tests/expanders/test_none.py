from components.expanders.none import NoExpander
from tests.contracts.expander_contract import PLAIN, TALK, ExpanderContract


class TestNoExpander(ExpanderContract):
    component = NoExpander()


def test_none_expander_searches_the_question() -> None:
    assert NoExpander().expand([PLAIN, TALK]) == [("谁获了奖？",), ("后一年呢？",)]
