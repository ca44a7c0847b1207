import json
from random import Random

import pytest

from components.fact_graph.fact_replies import read_facts
from components.records import Fact, FactsOfChunk

FORM = 'Print one JSON object alone:\n{"facts": [["subject", "relation", "object"]]}'
ONE = '["the mill", "burned in", "1931"]'
MILL = Fact("the mill", "burned in", "1931")


def read(reply: str, max_facts: int = 50) -> FactsOfChunk | None:
    return read_facts(reply, FORM, max_facts)


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"facts": [{ONE}]}}',
        f"[{ONE}]",
        f"```json\n[{ONE}]\n```",
        f'Here are the facts:\n```json\n{{"facts": [{ONE}]}}\n```\nThese are all.',
        f'<think>{{"facts": [["a", "b", "c"]]}} or not?</think>{{"facts": [{ONE}]}}',
        '{"facts": [["a", "b", "c"]]} is too short. {"facts": [' + ONE + "]}",
        '{"facts": [{"subject": "the mill", "relation": "burned in", "object": 1931}]}',
        '[{"subject": "the mill", "relation": "burned in", "object": "1931"}]',
        "{'facts': [['the mill', 'burned in', '1931',]]}",
        '{"facts": [["the  mill", " burned\\nin ", 1931]]}',
        "｛＂facts＂：［［＂the mill＂，＂burned in＂，＂1931＂］］｝",
        f'{{"facts": [{ONE}, {ONE}], "note": "one"}}',
    ],
)
def test_fact_is_read_from_every_reply_form(reply: str) -> None:
    assert read(reply) == FactsOfChunk((MILL,))


@pytest.mark.parametrize("reply", ['{"facts": []}', '```\n{"facts": [ ]}\n```', "{'facts':[]}", "｛＂facts＂：［］｝"])
def test_empty_fact_list_is_readable(reply: str) -> None:
    assert read(reply) == FactsOfChunk()


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "There are no facts.",
        "[]",
        "null",
        "[1, 2, 3]",
        ONE,
        '["a"]',
        '{"facts": null}',
        '{"facts": "the mill burned"}',
        '{"facts": {"subject": "a", "relation": "b", "object": "c"}}',
        '{"facts": ["a", "b", "c"]}',
        '{"facts": [["a", "b"]]}',
        '{"facts": [["a", "b", "c", "d"]]}',
        '{"facts": [[["a"], "b", "c"]]}',
        '{"facts": [["a", "b", null], ["a", true, "c"], ["a", {}, "c"]]}',
        '{"facts": [["", "b", "c"], ["a", " ", "c"], ["a", "b", "\\n"]]}',
        '{"facts": [{"subject": "a", "relation": "b"}]}',
        '{"facts": [["subject", "relation", "object"]]}',
        '{"facts": [["...", "...", "..."]]}',
        '{"fact": [["a", "b", "c"]]}',
        '{"facts": [',
        '{"facts": [["the mill", "burned',
        "[" * 5000,
        '{"facts": [["a", "b", ' + "9" * 5000 + "]]}",
        '{"facts": [["a", "b", "' + "x" * 100_000 + '"]]}',
    ],
)
def test_replies_without_a_fact_are_unreadable(reply: str) -> None:
    assert read(reply) is None


@pytest.mark.parametrize(
    "entry",
    [
        '["a", "b"]',
        '["a", "b", "c", "d"]',
        '["a", "b", ""]',
        '["a", "b", null]',
        '["a", ["b"], "c"]',
        '["subject", "relation", "object"]',
        '["a", "b", "' + "长" * 301 + '"]',
        '"a is b"',
        "7",
        "{}",
        "[]",
    ],
)
def test_unusable_facts_are_left_out_and_counted(entry: str) -> None:
    assert read(f'{{"facts": [{entry}, {ONE}]}}') == FactsOfChunk((MILL,), n_left_out=1)


def test_facts_beyond_the_limit_are_left_out_and_counted() -> None:
    reply = json.dumps({"facts": [["a", "is", number] for number in (1, 2, 2, 3, 4)]})
    assert read(reply, max_facts=3) == FactsOfChunk(tuple(Fact("a", "is", f"{n}") for n in (1, 2, 3)), n_left_out=1)


def test_long_and_non_latin_fact_parts_are_read() -> None:
    parts = ["长江" * 150, "flows — through", "🏙️ 武汉"]
    assert read(json.dumps({"facts": [parts]})) == FactsOfChunk((Fact(*parts),)), "also as escapes"


def test_reply_truncated_anywhere_has_no_invented_fact() -> None:
    """A list that is cut off may end in a fact that is cut off."""
    whole = '{"facts": [["the mill", "burned in", "1931"], ["the tower", "is", "red"]]}'
    known = {MILL, Fact("the tower", "is", "red")}
    for length in range(len(whole)):
        cut = read(whole[:length])
        assert cut is None or (set(cut.facts) <= known and cut.facts)


def test_random_fact_replies_are_read_without_errors() -> None:
    draw, n_read = Random(0), 0
    pieces = ['{"facts": [', "[", "]", "]}", '"a"', '"长江"', ",", ", ", "7", "null", ONE, "\n", "{}", '""', "x", "\\u"]
    for _ in range(3000):
        reply = "".join(draw.choice(pieces) for _ in range(draw.randint(1, 12)))
        found = read(reply)
        if found is not None:
            n_read += 1
            assert all(part.strip() == part and part for fact in found.facts for part in vars(fact).values())
            assert found.facts or "[]" in "".join(reply.split())
    assert n_read > 30


@pytest.mark.parametrize(
    ("reply", "objects", "n_left_out"),
    [
        ('{"facts": [["overlap","lies in","[0, 1)"],["mara","born in","tavik"]]}', ["[0, 1)", "tavik"], 0),
        ('{"facts": [["overlap","lies in","[0, 1)"]]}', ["[0, 1)"], 0),
        ('{"facts": [["mara","born in","tavik"]]}\n(Source [1, p. 2)', ["tavik"], 0),
        ('{"facts": [["x","lies in","(0, 1]"],["y","in","(2, 3]"],["mara","born in","tav', ["(0, 1]", "(2, 3]"], 1),
        ('{"facts": [["a","is","!!!"],["b","is","c"],["NaN","is",NaN],["d","is",Infinity]]}', ["c"], 3),
    ],
)
def test_brackets_within_fact_texts_do_not_end_a_list(reply: str, objects: list[str], n_left_out: int) -> None:
    found = read_facts(reply, "", 50)
    assert found is not None
    assert ([fact.object for fact in found.facts], found.n_left_out) == (objects, n_left_out)


def test_facts_without_letters_are_unreadable() -> None:
    assert read_facts('{"facts": [["...","is","!!!"],["$","is","%"]]}', "", 50) is None
