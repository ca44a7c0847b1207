"""A second computation of the metrics that no package computes, in plain Python, from the verdicts of 20 drawn samples.

The judges of conf/judge ask, and a scripted model gives the drawn verdicts. The recomputation reads these verdicts,
and nothing that a judge has computed: fractions in place of floats, and loops in place of the judges' functions.
"""

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from components.records import Answer, JudgeInput, Kind, Passage, Request, Sample
from runner.launch.request import check_jobs
from tests.contracts.judge_contract import ScriptedJudge
from tests.runner.sweeping import compose_job

LANGUAGES = ("en", "zh")
GRADES = range(4)


@dataclass(frozen=True)
class Drawn:
    """A sample with all verdicts of the model: the grade and the needed sentences of each passage, and the importance
    and the assignment of each nugget.
    """

    name: str
    sentences: tuple[tuple[bool, ...], ...]
    grades: tuple[int, ...]
    nuggets: tuple[tuple[str, str], ...]


def draw(number: int) -> Drawn:
    random_of = random.Random(number)
    n_passages = random_of.randint(0, 6) if number else 0
    n_nuggets = random_of.randint(0, 7)
    return Drawn(
        f"s{number}",
        tuple(tuple(random_of.random() < 0.4 for _ in range(random_of.randint(1, 5))) for _ in range(n_passages)),
        tuple(random_of.choice(GRADES) for _ in range(n_passages)),
        tuple(
            (random_of.choice(["vital", "okay"]), random_of.choice(["support", "partial_support", "not_support"]))
            for _ in range(n_nuggets)
        ),
    )


DRAWN = [draw(number) for number in range(20)]


def item_of(drawn: Drawn) -> JudgeInput:
    passages = tuple(
        Passage(" ".join(f"Word {drawn.name} p{place} n{n}." for n in range(len(own))))
        for place, own in enumerate(drawn.sentences)
    )
    sample = Sample(drawn.name, "qa", Kind.QA, f"Question {drawn.name}?", (f"Reference {drawn.name}.",))
    return JudgeInput(sample, f"Answer {drawn.name}.", passages)


def numbered_verdicts(flags: list[bool]) -> str:
    return json.dumps({"sentences": [number for number, flag in enumerate(flags, start=1) if flag]})


def reply(request: Request) -> str:
    """Return the drawn verdicts for a request, which its schema and the names in its text identify."""
    drawn = next(own for own in DRAWN if own.name == request.sample.id)
    asked = json.dumps(request.json_schema)
    if '"sentences"' in asked:
        return numbered_verdicts([flag for own in drawn.sentences for flag in own])
    if '"grade"' in asked:
        text = request.messages[-1].content
        (place,) = [n for n in range(len(drawn.grades)) if f"Word {drawn.name} p{n} n0." in text]
        return json.dumps({"reason": "r", "grade": drawn.grades[place]})
    if '"nuggets"' in asked:
        entries = [{"nugget": f"fact {n}", "importance": vital} for n, (vital, _) in enumerate(drawn.nuggets)]
        return json.dumps({"nuggets": entries})
    assigned = [{"number": n, "assignment": own} for n, (_, own) in enumerate(drawn.nuggets, start=1)]
    return json.dumps({"assignments": list(reversed(assigned))})


def values(judge: str, component: str, language: str) -> dict[str, list[float | None]]:
    """Judge all samples together, and return their values by metric, None for a missing value."""
    (request,) = check_jobs([compose_job(f"judge={judge}", "llm@judge.llm=rehearsal", f"language={language}")])
    metric: Any = request.cell.judge.scores[component]
    ask: Callable[[list[Request]], list[Answer]] = ScriptedJudge(reply)
    items = [item_of(own) for own in DRAWN]
    judged = metric.judge(items, metric.prepare([item.sample for item in items], ask), ask)
    return {
        name: [None if math.isnan(value) else value for value in scores.values.tolist()]
        for name, scores in judged.scores.items()
    }


def means(numbers: list[Fraction]) -> float | None:
    return float(sum(numbers, Fraction(0)) / len(numbers)) if numbers else None


def require_equal(found: list[float | None], recomputed: list[float | None]) -> None:
    assert len(set(recomputed)) > 5, "the draws differ"
    assert None in recomputed, "and some have no value"
    for own, expected in zip(found, recomputed, strict=True):
        assert own == (None if expected is None else pytest.approx(expected, abs=1e-12))


@pytest.mark.parametrize("language", LANGUAGES)
def test_recomputed_context_relevance_is_the_share_of_needed_sentences(language: str) -> None:
    recomputed = []
    for drawn in DRAWN:
        n_needed = n_all = 0
        for passage in drawn.sentences:
            for flag in passage:
                n_all += 1
                n_needed += flag
        recomputed.append(n_needed / n_all if n_all else None)
    require_equal(values("faithfulness", "context_relevance", language)["context_relevance"], recomputed)


@pytest.mark.parametrize("language", LANGUAGES)
def test_recomputed_nugget_scores_are_means_of_credits(language: str) -> None:
    found = values("nuggets", "nuggets", language)
    credit = {"support": Fraction(1), "partial_support": Fraction(1, 2), "not_support": Fraction(0)}
    full = {"support": Fraction(1), "partial_support": Fraction(0), "not_support": Fraction(0)}
    for name, by_assignment, only_vital in [
        ("nugget_recall", credit, False),
        ("nugget_strict", full, False),
        ("nugget_vital", credit, True),
        ("nugget_vital_strict", full, True),
    ]:
        recomputed = [
            means([by_assignment[own] for vital, own in drawn.nuggets if vital == "vital" or not only_vital])
            for drawn in DRAWN
        ]
        require_equal(found[name], recomputed)
    # a nugget that is not vital weighs half as much: the same as counting each vital one twice
    twice = [
        means([credit[own] for vital, own in drawn.nuggets for _ in range(2 if vital == "vital" else 1)])
        for drawn in DRAWN
    ]
    require_equal(found["nugget_weighted"], twice)


@pytest.mark.parametrize("language", LANGUAGES)
def test_recomputed_relevance_grades_give_all_three_scores(language: str) -> None:
    found = values("relevance", "relevance_grades", language)
    relevance, precision, gains = [], [], []
    for drawn in DRAWN:
        relevance.append(means([Fraction(grade, 3) for grade in drawn.grades]))
        precision.append(means([Fraction(1 if grade in (2, 3) else 0) for grade in drawn.grades]))
        gain = best = 0.0
        for rank, grade in enumerate(drawn.grades, start=1):
            gain += grade * math.log(2) / math.log(rank + 1)
            best += 3 * math.log(2) / math.log(rank + 1)
        gains.append(gain / best if drawn.grades else None)
    require_equal(found["umbrela_relevance"], relevance)
    require_equal(found["umbrela_precision"], precision)
    require_equal(found["umbrela_ndcg"], gains)
