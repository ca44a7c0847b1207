from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from components.datasets.returned_benchmark import check_returned
from components.errors import RagGridError
from components.records import Benchmark, Condition, Documents, Evidence, Kind, Sample

SAMPLE = Sample("q1", "all", Kind.QA, "Who?", ("Ann",), (Evidence("a", 0, 3),))
BENCHMARK = Benchmark(Documents(["a", "b"], ["", ""], ["Ann did", "Bob"]), (SAMPLE, replace(SAMPLE, id="q2")))


def test_valid_benchmark_of_a_class_is_accepted() -> None:
    check_returned(BENCHMARK, "Mine")
    loose: Any = {"references": ["Ann"], "topic": "R&D\u00a0合同\u3000管理", "task": "", "kind": "qa", "query": None}
    samples: Any = np.array([replace(SAMPLE, **loose)])
    check_returned(replace(BENCHMARK, samples=samples), "Mine")


def change(**fields: Any) -> Callable[[], Any]:
    return lambda: replace(BENCHMARK, samples=(SAMPLE, replace(SAMPLE, **{"id": "q2", **fields})))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda: None, "Mine: got NoneType, expected a Benchmark"),
        (lambda: replace(BENCHMARK, samples=()), "Mine: got no samples"),
        (lambda: replace(BENCHMARK, samples=("who?",)), "Mine, sample 1: got 'who?' of type str, expected Sample"),
        (lambda: replace(BENCHMARK, documents=[]), "Mine, documents: got [] of type list, expected Documents"),
        (change(id="q1"), "Mine: the sample id 'q1' occurs twice, as sample 1 and as sample 2"),
        (change(id=7), "Mine, sample 2 (7), id: got 7 of type int, expected str"),
        (change(references="Ann"), "sample 2 ('q2'), references: got 'Ann' of type str, expected tuple or list"),
        (change(references=None), "references: got None of type NoneType, expected tuple or list"),
        (change(references=(3,)), "an item of references: got 3 of type int, expected str"),
        (change(gold=(Evidence("a", grade=0),)), "got gold of grade 0, expected 1 to 2147483647. Leave out irrelevant"),
        (change(gold=("a",)), "an item of gold: got 'a' of type str, expected Evidence"),
        (change(gold=(Evidence("a", 0, 99),)), "characters 0 to 99 of document 'a', expected at most 7"),
        (change(answer_parts=("Ann",)), "an item of answer_parts: got 'Ann' of type str, expected tuple or list"),
        (change(conditions=(("team", Condition(equals="HR")),)), "team, equals: got 'HR' of type str, expected tuple"),
        (
            change(conditions=(("team", Condition(at_least=b"1")),)),
            "a value of conditions team: got b'1' of type bytes",
        ),
        (change(conditions=(("team",),)), "an item of conditions: got ('team',), expected (name, Condition)"),
        (change(topic="CI/CD"), "topic: got 'CI/CD', expected a name without slashes and line breaks"),
        (change(task="a\nb"), "task: got 'a\\nb', expected a name without slashes and line breaks"),
        (change(topic="all"), "the topic of sample 'q2' is 'all', a name that the results reserve"),
        (change(question=" "), "the question of sample 'q2' is empty"),
        (change(kind="qa "), "kind: got 'qa ', expected one of qa, long_form"),
        (
            lambda: replace(BENCHMARK, documents=Documents(["a", "a"], ["", ""], ["Ann did", "Bob"])),
            "the document id 'a' occurs twice",
        ),
    ],
)
def test_invalid_benchmark_names_class_sample_and_field(returned: Callable[[], Any], message: str) -> None:
    with pytest.raises(RagGridError) as error:
        check_returned(returned(), "Mine")
    assert message in str(error.value)
