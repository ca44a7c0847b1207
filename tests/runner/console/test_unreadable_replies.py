"""Reasons of replies that could not be read, counted by kind."""

from runner.console.unreadable_replies import count_reasons, judges_by_cause, unread_cause

CUT = [f'cannot be read: (truncated reply) {{"grade": {n}' for n in range(3)]
OTHER = ["cannot be read: Perhaps."] * 2


def test_unreadable_replies_are_counted_by_their_reason() -> None:
    kinds, commonest = count_reasons([*OTHER, *CUT])
    assert kinds == {"truncated at max_new_tokens": 3, "not in the requested form": 2}
    assert commonest == CUT[0]
    counts = {"n_unparsable": 5, "reasons": kinds, "commonest": commonest}
    assert unread_cause(counts) == 'most often truncated at max_new_tokens: 3 of 5, e.g. {"grade": 0'


def test_blank_unreadable_reply_has_no_example() -> None:
    kinds, commonest = count_reasons(["cannot be read: (empty reply)"])
    assert unread_cause({"n_unparsable": 1, "reasons": kinds, "commonest": commonest}) == "most often empty: 1 of 1"


def test_unreadable_reply_to_a_named_step_counts_by_its_reason() -> None:
    kinds, commonest = count_reasons(["claims of the reference: cannot be read: (empty reply)"])
    assert unread_cause({"n_unparsable": 1, "reasons": kinds, "commonest": commonest}) == "most often empty: 1 of 1"


def test_unread_counts_without_kinds_report_no_number() -> None:
    assert unread_cause({"n_unparsable": 2, "commonest": OTHER[0]}) == "not in the requested form, e.g. Perhaps."
    assert unread_cause({"n_unparsable": 0, "commonest": ""}) == ""


def test_judges_with_the_same_failure_are_grouped() -> None:
    alike = {"n_unparsable": 2, "commonest": OTHER[0]}
    worst = {"accuracy": alike, "necessity": {"n_unparsable": 1}, "relevance": {**alike, "n_unparsable": 1}}
    assert judges_by_cause(worst) == {
        "most often not in the requested form, e.g. Perhaps.": ["accuracy", "relevance"],
        "": ["necessity"],
    }


def test_empty_reply_list_has_no_reasons() -> None:
    assert count_reasons([]) == ({}, "")
