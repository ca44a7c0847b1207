from components.protocols import ListReranker, Reranker, RerankerCascade
from components.rerankers.cascade import Cascade
from components.rerankers.lexical import LexicalCoverage
from tests.contracts.component_contract import ComponentContract


class TestCascade(ComponentContract):
    component = Cascade({"light": LexicalCoverage(200), "precise": LexicalCoverage(20, 0.0)})

    def test_cascade_implements_only_its_protocol(self) -> None:
        assert isinstance(self.component, RerankerCascade)
        assert not isinstance(self.component, Reranker | ListReranker)


def test_cascade_rejects_empty_steps_and_growing_depths() -> None:
    assert Cascade({}).check() == ["steps: got none, expected at least one (for none, reranker=none)"]
    (problem,) = Cascade({"light": LexicalCoverage(20), "precise": LexicalCoverage(21)}).check()
    assert problem.startswith("steps.precise.depth: got 21, expected at most 20, the depth of steps.light")
    assert Cascade({"one": LexicalCoverage(20), "other": LexicalCoverage(20)}).check() == []
