"""From the names of metrics to the components that compute them, as the options of conf/metrics/ configure them."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from omegaconf import OmegaConf

from components.errors import ConfigError
from components.metrics.trec import TrecMeasures
from components.protocols import AnswerMetric, ContextMetric, Metric
from runner.schema import build_component


def metrics_by_name(names: Sequence[str]) -> dict[str, Metric]:
    """The component of every name; names of one component share it. Raises ConfigError listing those that are known."""
    known, unusable = _known()
    found: dict[str, Metric] = {}
    mistakes = []
    for name in names:
        if not (trec := TrecMeasures((name,))).check():
            found[name] = trec
        elif name in known:
            found[name] = known[name]
        else:
            mistakes.append(f"{name!r}: no such metric")
    if mistakes:
        raise ConfigError([*mistakes, f"known are: {', '.join(sorted(known))}, and any k in name@k", *unusable])
    return found


def _known() -> tuple[dict[str, Metric], list[str]]:
    """The metrics of answers and rankings by name, and why others cannot be used here (a missing extra, say)."""
    known: dict[str, Metric] = {}
    unusable: dict[str, None] = {}
    for component, node in _nodes().items():
        try:
            metric = build_component(node, Metric, f"metrics.scores.{component}")
        except ConfigError as error:
            unusable |= dict.fromkeys(error.mistakes)
            continue
        if not isinstance(metric, ContextMetric):
            known |= dict.fromkeys(metric.names, metric)
    return known, list(unusable)


def _nodes() -> dict[str, Mapping[str, Any]]:
    """The metrics of all options."""
    nodes: dict[str, Mapping[str, Any]] = {}
    for option in sorted(files("conf").joinpath("metrics").iterdir(), key=lambda file: file.name):
        if option.name.endswith(".yaml"):
            config: Any = OmegaConf.to_container(OmegaConf.create(option.read_text(encoding="utf-8")))
            nodes |= config["scores"]
    return nodes


def is_answer_metric(metric: Metric) -> bool:
    """True for a metric of texts, False for one of rankings."""
    return isinstance(metric, AnswerMetric)
