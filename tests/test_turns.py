from components.turns import ConversationTurn, conversation_turns


def test_turns_are_numbered_in_the_conversation_that_their_first_question_opens() -> None:
    found = conversation_turns([("Who?",), ("Who?", "When?"), ("Alone?",), ("Who?", "When?", "Why?"), ("Hm?", "So?")])
    assert found == [
        ConversationTurn(1, "Who?"),
        ConversationTurn(2, "Who?"),
        None,
        ConversationTurn(3, "Who?"),
        ConversationTurn(2, "Hm?"),
    ]


def test_no_questions() -> None:
    assert conversation_turns([]) == []
