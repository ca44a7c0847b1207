"""Tasks as the configuration has them."""

from typing import Any

from omegaconf import OmegaConf

from components.testset.protocols import Task
from runner.pipeline.building import build_component
from tests.runner.sweeping import REPOSITORY

CONF = REPOSITORY / "runner" / "testset" / "conf"
NAMES = tuple(sorted(file.stem for file in (CONF / "tasks").glob("*.yaml")))
LANGUAGES = ("en", "zh")


def read(place: str) -> dict[str, Any]:
    """A file of the configuration as it is."""
    loaded: Any = OmegaConf.to_container(OmegaConf.load(CONF / f"{place}.yaml"), resolve=False)
    return dict(loaded)


def configured(name: str, language: str = "en") -> Task:
    """A task in the wording of a language. Whom it would ask is left to the caller of `write`."""
    own = read(f"tasks/{name}")
    node = own[name]
    for default in own.get("defaults", []):
        if isinstance(default, str) and default != "_self_":  # "/wording/writer/en@extractive.wording"
            folder = default.partition("@")[0].removesuffix("/en").strip("/")
            node["wording"] = {**node.get("wording", {}), **read(f"{folder}/{language}")}
    if "llm" in node:
        node["llm"] = {"_target_": "components.llms.scripted.Scripted"}
    task: Task = build_component(node, Task, f"tasks.{name}")  # type: ignore[type-abstract]
    return task
