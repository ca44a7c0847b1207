"""Finds the components that compute metrics by name, configured as in the options of conf/metrics/."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from omegaconf import OmegaConf

from components.errors import ConfigError
from components.json_value import Json
from components.limits import expected_one_of
from components.metrics.trec import TrecMeasures
from components.protocols import ContextMetric, Metric, Tokenizer
from runner.pipeline.building import build_component
from runner.pipeline.external_scoring.quest_lines import QuestAnswers

Scorer = Any  # an AnswerMetric, a RankingMetric, or QuestAnswers: distinguished by the caller


def metrics_by_name(names: Sequence[str], language: str = "zh") -> dict[str, Scorer]:
    """Return the component of every name for a language of conf/language/. Names of one component share it.

    Raises ConfigError, which lists the known names, for an unknown one.
    """
    known, unusable = _known_metrics(language)
    metrics: dict[str, Scorer] = {}
    unknown = []
    for name in names:
        if not (trec := TrecMeasures((name,))).check():
            metrics[name] = trec
        elif name in known:
            metrics[name] = known[name]
        else:
            unknown.append(name)
    if unknown:
        raise ConfigError([_problem(name, list(known), unusable) for name in unknown])
    return metrics


def _problem(name: str, known: Sequence[str], unusable: Mapping[str, str]) -> str:
    if name in unusable:
        return f"--metrics: {name} cannot be used here: {unusable[name]}"
    return f"--metrics: got {name!r}{expected_one_of(name, sorted(known), ' (any k in name@k)')}"


def _known_metrics(language: str) -> tuple[dict[str, Scorer], dict[str, str]]:
    """Return the metrics of answers and rankings by name, and errors of unusable metrics by the name of their node.

    A metric is unusable if its extra is missing, for example.
    """
    text = files("conf").joinpath("language", f"{language}.yaml").read_text(encoding="utf-8")
    language_config: Json = OmegaConf.to_container(OmegaConf.create(text))
    quest = QuestAnswers(build_component(language_config["words"], Tokenizer, "language.words"))
    known: dict[str, Scorer] = dict.fromkeys(quest.names, quest)
    unusable: dict[str, str] = {}
    for component, node in _nodes(language_config).items():
        try:
            metric = build_component(node, Metric, component)
        except ConfigError as error:
            unusable[component] = "; ".join(error.problems)
            continue
        if not isinstance(metric, ContextMetric):
            known |= dict.fromkeys(metric.names, metric)
    return known, unusable


def _nodes(language: Json) -> dict[str, Mapping[str, Json]]:
    """Return the configuration nodes of all options' metrics for a language."""
    nodes: dict[str, Mapping[str, Json]] = {}
    for option in sorted(files("conf").joinpath("metrics").iterdir(), key=lambda file: file.name):
        if option.name.endswith(".yaml"):
            written = OmegaConf.create(option.read_text(encoding="utf-8"))
            config: Json = OmegaConf.to_container(OmegaConf.merge(written, {"language": language}), resolve=True)
            nodes |= config.get("scores", {})  # an option that only combines others has no `scores`
    return nodes
