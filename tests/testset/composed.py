"""The options of `python -m runner.generate`, composed once for each language, with a scripted model."""

from functools import cache
from typing import Any, TypeVar

from runner.pipeline.building import build_component
from runner.testset.making.composing import compose_generation

T = TypeVar("T")

TASKS = ("extractive", "multi_hop", "conversational", "summary")
OVERRIDES = (f"tasks=[{','.join(TASKS)}]", "topics=auto", "llm=scripted", "corpus.path=somewhere", "out=somewhere")


@cache
def options(language: str) -> dict[str, Any]:
    """All that a run has, with every gate and drafted topics."""
    return compose_generation([*OVERRIDES, f"language={language}"])


def built(node: dict[str, Any], wanted: type[T]) -> T:
    """The component of a node; raises ConfigError for one that cannot be built."""
    component: T = build_component(node, wanted, "component")
    return component
