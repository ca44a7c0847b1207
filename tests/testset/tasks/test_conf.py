"""The options of `python -m runner.generate`: each task is built, in the wording of the language or else in English."""

import pytest

from components.testset.protocols import Task
from runner.pipeline.building import build_component
from runner.testset.making.composing import compose_generation
from tests.testset.tasks.configured import NAMES, configured


@pytest.mark.parametrize(("language", "wording"), [("zh", "zh"), ("de", "en")])
def test_every_testset_task_is_an_option(language: str, wording: str) -> None:
    config = compose_generation(
        [f"tasks=[{','.join(NAMES)}]", f"language={language}", "llm=scripted", "gates=[]", "out=x", "corpus.path=x"]
    )
    assert list(config["tasks"]) == list(NAMES)
    for name, node in config["tasks"].items():
        assert build_component(node, Task, name) == configured(name, wording)
