import numpy as np
import pytest

from components.fact_graph.fact_tables import fact_table, facts_within, phrase_form
from components.records import Fact

STATED = [
    (3, Fact("Old Mill", "is by", "the river")),
    (0, Fact("old  mill", "IS BY", '"The River"')),
    (0, Fact("old mill", "is by", "the river")),
    (1, Fact("the river", "feeds", "the river")),
    (1, Fact("?!", "is", "nothing")),
    (3, Fact("长江", "流经", "武汉")),
]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("  The “Old” Mill. ", "the “old” mill"),
        ("ＡＢＣ　公司", "abc 公司"),
        ("（长江）", "长江"),
        ("Straße", "strasse"),
        ("$3.5 million", "3.5 million"),
        ("...", ""),
        ("", ""),
    ],
)
def test_phrase_form_is_normalised_and_stable(text: str, form: str) -> None:
    assert phrase_form(text) == form
    assert phrase_form(form) == form


def test_equal_facts_are_stored_once() -> None:
    table = fact_table(STATED, 5)
    assert table.phrases == ["old mill", "the river", "武汉", "长江"]
    assert table.facts == ["old mill is by the river", "the river feeds the river", "长江 流经 武汉"]
    assert (table.subject.tolist(), table.object.tolist()) == ([0, 1, 3], [1, 1, 2])
    assert list(zip(table.chunk.tolist(), table.fact.tolist(), strict=True)) == [(0, 0), (1, 1), (3, 0), (3, 2)]


def test_fact_table_does_not_depend_on_the_order_of_facts() -> None:
    one, other = fact_table(STATED, 5), fact_table(STATED[::-1], 5)
    assert one.phrases == other.phrases
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("subject", "chunk", "fact"))


def test_facts_within_a_chunk_range_are_renumbered() -> None:
    own = facts_within(fact_table(STATED, 5), 1, 5)
    assert own.fact_rows.tolist() == [0, 1, 2]
    last = facts_within(fact_table(STATED, 5), 2, 5)
    assert (last.fact_rows.tolist(), last.phrase_rows.tolist(), last.n_chunks) == ([0, 2], [0, 1, 2, 3], 3)
    assert (last.subject.tolist(), last.object.tolist()) == ([0, 3], [1, 2])
    assert (last.chunk.tolist(), last.fact.tolist()) == ([1, 1], [0, 1])
    none = facts_within(fact_table(STATED, 5), 4, 5)
    assert (none.n_phrases, len(none.fact), none.n_chunks) == (0, 0, 1)


def test_fact_table_without_facts_is_empty() -> None:
    table = fact_table([], 2)
    assert (table.phrases, table.facts, len(table.subject), len(table.chunk)) == ([], [], 0, 0)
    assert facts_within(table, 0, 2).n_phrases == 0
