"""A simulated export of Label Studio, after people annotated our tasks."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from runner.results import released_set as content
from runner.testset.annotating.label_studio_tasks import make_tasks

Task = dict[str, Any]
Result = dict[str, Any]


def untouched(testset: "content.Testset", who: object = 1) -> list[Task]:
    """Every prediction submitted as it is."""
    return [
        {
            "id": number,
            "data": task["data"],
            "annotations": [annotation(task["predictions"][0]["result"], who)],
            "drafts": [],
            "predictions": [],
        }
        for number, task in enumerate(make_tasks(testset.samples, testset), start=1)
    ]


def annotation(results: Sequence[Result], who: object = 1, **more: object) -> dict[str, Any]:
    return {"completed_by": who, "was_cancelled": False, "result": deepcopy(list(results)), **more}


def value_of(task: Task, control: str) -> dict[str, Any]:
    """Return the value of a control of the first annotation. Callers change it in place."""
    found: dict[str, Any] = next(own for own in results_of(task) if own["from_name"] == control)["value"]
    return found


def results_of(task: Task) -> list[Result]:
    results: list[Result] = task["annotations"][0]["result"]
    return results


def choose(task: Task, control: str, choice: str) -> None:
    add(task, control, "choices", {"choices": [choice]})


def rate(task: Task, stars: int) -> None:
    add(task, "rating", "rating", {"rating": stars})


def add(task: Task, control: str, kind: str, value: Mapping[str, object], shown: str = "shown_question") -> None:
    results_of(task).append({"from_name": control, "to_name": shown, "type": kind, "value": dict(value)})


def write(file: Path, tasks: object) -> Path:
    file.write_text(json.dumps(tasks, ensure_ascii=False), encoding="utf-8")
    return file
