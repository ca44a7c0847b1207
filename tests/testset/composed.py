"""Components as the options of `python -m runner.generate` make them, with a scripted model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import runner
from runner.launch.schema import build_component

T = TypeVar("T")
CONF = Path(runner.__file__).parent / "generate" / "conf"
MAIN = """
defaults: [{options}, llm: scripted, llm@checker: scripted, language: {language}, _self_]
seed: 0
hydra: {{searchpath: ["file://{conf}", pkg://conf]}}
"""


def composed(folder: Path, options: str, language: str = "en", overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The configuration of some options ("topics: file"), in a folder for the test alone."""
    (folder / "language").mkdir(exist_ok=True)
    (folder / "language" / f"{language}.yaml").write_text("{}")
    (folder / "main.yaml").write_text(MAIN.format(options=options, language=language, conf=CONF), encoding="utf-8")
    with initialize_config_dir(str(folder), version_base="1.3"):
        config = compose("main", overrides=list(overrides))
    found: dict[str, Any] = OmegaConf.to_container(config, resolve=True)  # type: ignore[assignment]
    return found


def built(node: dict[str, Any], wanted: type[T]) -> T:
    """The component of a node; raises ConfigError for one that cannot be built."""
    component: T = build_component(node, wanted, "component")
    return component
