"""What people edited passes the gates again that ask no model."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

import yaml

from components.json_value import Json
from components.testset.protocols import DraftGate
from components.testset.records import Draft, GateVerdict, VerdictState
from runner.pipeline.building import build_component
from runner.results.released_set import Testset
from runner.results.set_lines import sample_line
from runner.testset.making.drafts import TextsAlone, draft_of
from runner.testset.making.no_model import ask_nobody

_LOCATION = "location"


def gates_of(testset: Testset) -> dict[str, DraftGate]:
    """By name, the gates that ask no model: those of the run that made the set, with its thresholds, or for a set of
    another origin all that there are; not the one that makes gold of what a writer cites, as there is no writer. Raises
    ConfigError for a gate that cannot be built.
    """
    configuration = testset.about.get("configuration")
    nodes = configuration.get("gates", {}) if isinstance(configuration, dict) else dict(_all_nodes())
    own = {name: node for name, node in nodes.items() if "llm" not in node and name != _LOCATION}
    return {name: build_component(node, DraftGate, f"gates.{name}") for name, node in own.items()}


def _all_nodes() -> Iterator[tuple[str, Json]]:
    """The options of the group `gates`. A gate without a model needs no other option."""
    for file in sorted((files("runner.testset") / "conf" / "gates").iterdir(), key=lambda file: file.name):
        name = file.name.removesuffix(".yaml")
        yield name, yaml.safe_load(file.read_text("utf-8"))[name]


class Rejected(NamedTuple):
    """By which gate, by its name, and why."""

    sample: str
    gate: str
    verdict: GateVerdict


def rejected_by(gates: Mapping[str, DraftGate], testset: Testset, names: Sequence[str]) -> list[Rejected]:
    """Of the named samples those that a gate rejects, in the order of the gates, by the first that does."""
    wanted = set(names)
    drafts = [draft_of(sample, testset) for sample in testset.samples if sample.id in wanted]
    corpus = TextsAlone(testset.texts, testset.titles)
    found: list[Rejected] = []
    for name, gate in gates.items():
        passed: list[Draft] = [draft for draft in drafts if not gate.applies_to(draft)]
        looked_at = [draft for draft in drafts if gate.applies_to(draft)]
        for draft, verdict in zip(looked_at, gate.verdicts(looked_at, corpus, ask_nobody), strict=True):
            if verdict.state is VerdictState.REJECTED:
                found.append(Rejected(draft.id, name, verdict))
            else:
                passed.append(draft)
        drafts = passed
    return found


def lines_of(rejected: Sequence[Rejected], testset: Testset) -> list[dict[str, Json]]:
    """For rejected.jsonl: the samples as they were edited, each with why it is out."""
    samples = {sample.id: sample for sample in testset.samples}
    return [
        {
            **sample_line(samples[own.sample]),
            "gate": own.gate,
            "state": own.verdict.state.value,
            "reason": own.verdict.reason,
            "detail": own.verdict.detail,
            "provenance": testset.provenance.get(own.sample, {}),
        }
        for own in rejected
    ]
