"""Checks the samples of any data set with the gates that use no model."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.errors import ConfigError
from components.json_value import Json
from components.protocols import Dataset
from components.records import Benchmark, Sample
from components.testset.protocols import DraftGate
from components.testset.records import Draft, EvidenceSet, VerdictState
from components.testset.repeated_questions import NearDuplicateFinder
from runner.testset.making.draft_outcomes import NEAR_DUPLICATE
from runner.testset.making.model_free_inputs import TextsAlone, refuse_requests


@dataclass(frozen=True)
class CheckSettings:
    """The data set to check, and the gates that check it."""

    dataset: Dataset
    gates: Mapping[str, DraftGate]
    near_duplicates: NearDuplicateFinder
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckFinding:
    """A gate's objection to a sample. With `is_remark`, the gate would not reject a draft for it."""

    sample: Sample
    gate: str
    reason: str
    detail: str
    is_remark: bool

    def to_json(self) -> dict[str, Json]:
        """Return the line of a file of findings."""
        return {
            "id": self.sample.id,
            "subset": self.sample.subset,
            "topic": self.sample.topic,
            "task": self.sample.task,
            "question": self.sample.question,
            "gate": self.gate,
            "reason": self.reason,
            "detail": self.detail,
            "remark": self.is_remark,
        }


@dataclass(frozen=True)
class CheckReport:
    """All findings, by gate and in the order of the samples. A sample may have several. `n_checked` is the number of
    samples that each gate applies to.
    """

    n_samples: int
    n_checked: Mapping[str, int]
    findings: tuple[CheckFinding, ...]

    @property
    def n_samples_found(self) -> int:
        """Number of samples with a finding that is not a remark."""
        return len({finding.sample.id for finding in self.findings if not finding.is_remark})

    def counts(self) -> Counter[tuple[str, str]]:
        """Return the number of findings by gate and reason."""
        return Counter((finding.gate, finding.reason) for finding in self.findings)


def check_dataset(
    benchmark: Benchmark, gates: Mapping[str, DraftGate], near_duplicates: NearDuplicateFinder
) -> CheckReport:
    """Return the findings of the gates in the samples, as if these were drafts with known gold, and samples that repeat
    earlier ones.

    Missing references are not reported if no sample has any. A question that the corpus cannot answer may have a
    reference that says so. Raises ConfigError for a gate that uses a model.
    """
    if asking := [name for name, gate in gates.items() if gate.llm is not None]:
        raise ConfigError(
            f"gates: {', '.join(asking)} {'needs' if len(asking) == 1 else 'need'} a model. Choose gates without one."
        )
    documents = benchmark.documents
    corpus = TextsAlone(
        dict(zip(documents.ids, documents.texts, strict=True)), dict(zip(documents.ids, documents.titles, strict=True))
    )
    samples = {sample.id: sample for sample in benchmark.samples}
    drafts = [_draft(sample) for sample in benchmark.samples]
    has_references = any(sample.references for sample in benchmark.samples)
    n_checked: dict[str, int] = {}
    findings: list[CheckFinding] = []
    for name, gate in gates.items():
        judged = [draft for draft in drafts if gate.applies_to(draft)]
        n_checked[name] = len(judged)
        for draft, verdict in zip(judged, gate.verdicts(judged, corpus, refuse_requests), strict=True):
            if verdict.reason and not _is_allowed(verdict.reason, samples[draft.id], has_references):
                is_remark = verdict.state is VerdictState.TAGGED
                findings.append(CheckFinding(samples[draft.id], name, verdict.reason, verdict.detail, is_remark))
    n_checked[_REPEATS] = len(drafts)
    findings += _repeats(drafts, samples, near_duplicates)
    return CheckReport(len(samples), n_checked, tuple(findings))


_REPEATS = "near_duplicates"


def _repeats(
    drafts: Sequence[Draft], samples: Mapping[str, Sample], near_duplicates: NearDuplicateFinder
) -> Iterator[CheckFinding]:
    for new, earlier in near_duplicates.repeats(drafts, []).items():
        detail = f"repeats {earlier}: {samples[earlier].question}"
        yield CheckFinding(samples[new], _REPEATS, NEAR_DUPLICATE, detail, is_remark=False)


def _is_allowed(reason: str, sample: Sample, has_references: bool) -> bool:
    return (reason == "reference_empty" and not has_references) or (reason == "non_answer" and not sample.answerable)


def _draft(sample: Sample) -> Draft:
    topic, task = sample.topic or "", sample.task or ""
    evidence = EvidenceSet(sample.id, task, topic, ())
    return Draft(
        sample.id,
        task,
        topic,
        sample.kind,
        evidence,
        sample.question,
        sample.references,
        (),
        sample.gold,
        sample.history,
    )
