import pytest

from components.protocols import ListReranker, Reranker, RerankerCascade, RerankerSelection
from components.rerankers.cascade import Cascade
from components.rerankers.lexical import LexicalCoverage
from components.rerankers.none import NoReranker
from components.rerankers.selected import Selected
from tests.contracts.component_contract import ComponentContract

CANDIDATES = {"none": NoReranker(), "lexical": LexicalCoverage(), "both": Cascade({"one": LexicalCoverage()})}


class TestSelected(ComponentContract):
    component = Selected(CANDIDATES)

    def test_selected_reranker_implements_only_its_protocol(self) -> None:
        assert isinstance(self.component, RerankerSelection)
        assert not isinstance(self.component, Reranker | ListReranker | RerankerCascade)


@pytest.mark.parametrize(
    ("component", "problem"),
    [
        (Selected({"one": LexicalCoverage()}), "candidates: got 1, expected at least two to choose from"),
        (Selected(CANDIDATES, share=0.0), "share: got 0.0, expected a share above 0 and below 1"),
        (Selected(CANDIDATES, share=1.0), "share: got 1.0, expected a share above 0 and below 1"),
    ],
)
def test_selected_reranker_rejects_one_candidate_and_shares_of_0_and_1(component: Selected, problem: str) -> None:
    assert component.check() == [problem]
