"""Names of groups of samples, and turns of conversations."""

from components.subsets import ConversationTurn, conversation_turns, in_order, readable_name


def test_slugs_are_in_the_order_of_their_labels() -> None:
    assert in_order(["a", "b", "c"], {"c": "C", "x": "X", "a": "A", "b": "B"}) == ["c", "a", "b"]


def test_slugs_are_sorted_if_some_have_no_label() -> None:
    assert in_order(["b", "multi_hop", "a"], {"multi_hop": "multi-hop"}) == ["a", "b", "multi_hop"]


def test_names_in_other_scripts_are_shown_by_their_labels() -> None:
    labels = {"3f2a91c0": "基金", "fees": "Fees", "fees/0bf8c6c0": "Fees/引文", "0bf8c6c0": "引文"}
    names = ["topic/3f2a91c0", "matrix/3f2a91c0/fees", "fees/0bf8c6c0", "fees", "overall"]
    assert [readable_name(name, labels) for name in names] == [
        "topic/基金",
        "matrix/基金/fees",
        "Fees/引文",
        "fees",
        "overall",
    ]


def test_turns_are_numbered_from_the_first_question_of_their_conversation() -> None:
    found = conversation_turns([("Who?",), ("Who?", "When?"), ("Alone?",), ("Who?", "When?", "Why?"), ("Hm?", "So?")])
    assert found == [
        ConversationTurn(1, "Who?"),
        ConversationTurn(2, "Who?"),
        None,
        ConversationTurn(3, "Who?"),
        ConversationTurn(2, "Hm?"),
    ]


def test_empty_sample_list_has_no_turns() -> None:
    assert conversation_turns([]) == []
