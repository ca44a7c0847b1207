from dataclasses import replace

import pytest

from components.errors import ConfigError
from components.records import Benchmark, Documents, Evidence, Kind, Sample
from components.testset.gates.containment import Containment
from components.testset.gates.form import Form
from components.testset.gates.leaks import Leaks
from components.testset.protocols import DraftGate
from components.testset.records import Draft
from components.testset.repeated_questions import NearDuplicateFinder
from runner.testset.making.sample_checks import check_dataset

TEXT = "青砚有轨电车2号线全长17.6公里，共设车站19座，由青砚轨道运营公司负责管理。"
DOCUMENTS = Documents(["a", "b"], ["", ""], [TEXT, f"{TEXT}此外别无可说。"])
GOOD = Sample("good", "qa", Kind.QA, "青砚有轨电车2号线全长多少公里？", ("17.6公里",), (Evidence("a"),))
GATES: dict[str, DraftGate] = {
    "form": Form(4, 400, 2000),
    "leaks": Leaks(4, 24, 20, tags=False),
    "containment": Containment(0.5, 0.9, 30, tags=False),
}


def _reasons(*samples: Sample, gates: dict[str, DraftGate] = GATES) -> list[tuple[str, str, str]]:
    report = check_dataset(Benchmark(DOCUMENTS, samples), gates, NearDuplicateFinder())
    return [(finding.sample.id, finding.gate, finding.reason) for finding in report.findings]


def test_sample_may_have_findings_of_several_gates() -> None:
    pointing = replace(
        GOOD, id="both", question="根据上文，哪一家青砚轨道运营公司负责管理？", gold=(Evidence("a"), Evidence("b"))
    )
    assert _reasons(GOOD, pointing) == [
        ("both", "form", "points_at_document"),
        ("both", "containment", "text_contained"),
    ]


def test_repeated_sample_is_a_near_duplicate() -> None:
    again = replace(GOOD, id="again", question="青砚有轨电车2号线的全长是多少公里？")
    assert _reasons(GOOD, again) == [("again", "near_duplicates", "near_duplicate")]


def test_check_counts_findings_and_remarks() -> None:
    gates: dict[str, DraftGate] = {"form": Form(4, 400, 2000, only_tagged=("points_at_document",))}
    bad = replace(GOOD, id="bad", question="谁？")
    remarked = replace(GOOD, id="remarked", question="根据上文，谁负责管理？")
    continued = replace(GOOD, id="text", kind=Kind.CONTINUATION, question=TEXT)
    report = check_dataset(Benchmark(DOCUMENTS, (GOOD, bad, remarked, continued)), gates, NearDuplicateFinder())
    assert (report.n_samples, report.n_samples_found) == (4, 1)
    assert report.n_checked == {"form": 4, "near_duplicates": 4}
    assert report.counts() == {("form", "question_too_short"): 1, ("form", "points_at_document"): 1}
    line = report.findings[0].to_json()
    assert (line["id"], line["gate"], line["reason"], line["remark"]) == ("bad", "form", "question_too_short", False)
    assert report.findings[1].is_remark


def test_missing_references_are_reported_only_if_some_exist() -> None:
    bare = replace(GOOD, references=())
    assert _reasons(bare) == []
    assert _reasons(bare, replace(GOOD, id="other", question="青砚市有多少座桥？")) == [
        ("good", "form", "reference_empty")
    ]


def test_unanswerable_question_may_have_a_refusal_as_reference() -> None:
    unanswered = replace(GOOD, references=("信息不足",))
    assert _reasons(unanswered) == [("good", "form", "non_answer")]
    assert _reasons(replace(unanswered, answerable=False)) == []


def test_containment_ignores_gold_outside_the_corpus_and_empty_sets() -> None:
    assert _reasons(replace(GOOD, gold=(Evidence("nowhere"), Evidence("a")))) == []
    assert _reasons() == []


class _Asking(Containment):
    """A gate with a model."""

    llm = object()  # type: ignore[assignment]

    def applies_to(self, draft: Draft) -> bool:
        raise AssertionError("it was used")


def test_check_refuses_gates_that_ask_a_model() -> None:
    with pytest.raises(ConfigError, match="gates: asking needs a model"):
        _reasons(GOOD, gates={"asking": _Asking(0.5, 0.9, 30, tags=False)})
