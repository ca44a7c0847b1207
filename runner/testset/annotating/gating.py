"""Checks edited samples again with the gates that use no model."""

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
from runner.testset.making.model_free_inputs import TextsAlone, make_draft, refuse_requests

_LOCATION = "location"


def configured_gates(testset: Testset) -> dict[str, DraftGate]:
    """Return the gates that use no model, by name, as the run that made the set configured them.

    A set from any other source is checked by all such gates. The gate that locates the writer's citations is left out,
    because people's edits have no writer. Raises ConfigError for a gate that cannot be built.
    """
    configuration = testset.about.get("configuration")
    nodes = configuration.get("gates", {}) if isinstance(configuration, dict) else dict(_all_nodes())
    asking_none = {name: node for name, node in nodes.items() if "llm" not in node and name != _LOCATION}
    return {name: build_component(node, DraftGate, f"gates.{name}") for name, node in asking_none.items()}


def _all_nodes() -> Iterator[tuple[str, Json]]:
    """Yield the options of the group `gates`. A gate without a model needs no other option."""
    for file in sorted((files("runner.testset") / "conf" / "gates").iterdir(), key=lambda file: file.name):
        name = file.name.removesuffix(".yaml")
        yield name, yaml.safe_load(file.read_text("utf-8"))[name]


class Rejection(NamedTuple):
    """A sample that a gate rejected: the name of the gate, and its verdict."""

    sample: str
    gate: str
    verdict: GateVerdict


def reject_samples(gates: Mapping[str, DraftGate], testset: Testset, names: Sequence[str]) -> list[Rejection]:
    """Return the named samples that some gate rejects, each with the first gate that does. They are in the order of the
    gates.
    """
    edited = set(names)
    drafts = [make_draft(sample, testset) for sample in testset.samples if sample.id in edited]
    corpus = TextsAlone(testset.texts, testset.titles)
    rejections: list[Rejection] = []
    for name, gate in gates.items():
        passed: list[Draft] = [draft for draft in drafts if not gate.applies_to(draft)]
        judged = [draft for draft in drafts if gate.applies_to(draft)]
        for draft, verdict in zip(judged, gate.verdicts(judged, corpus, refuse_requests), strict=True):
            if verdict.state is VerdictState.REJECTED:
                rejections.append(Rejection(draft.id, name, verdict))
            else:
                passed.append(draft)
        drafts = passed
    return rejections


def rejection_lines(rejections: Sequence[Rejection], testset: Testset) -> list[dict[str, Json]]:
    """Return the lines of rejected.jsonl: the edited samples, each with the reason of its rejection."""
    samples = {sample.id: sample for sample in testset.samples}
    return [
        {
            **sample_line(samples[rejection.sample]),
            "gate": rejection.gate,
            "state": rejection.verdict.state.value,
            "reason": rejection.verdict.reason,
            "detail": rejection.verdict.detail,
            "provenance": testset.provenance.get(rejection.sample, {}),
        }
        for rejection in rejections
    ]
