from components.rerankers.none import NoReranker
from tests.contracts.reranker_contract import PAIRS, RerankerContract


class TestNoReranker(RerankerContract):
    component = NoReranker()

    def test_none_reranker_scores_every_pair_zero(self) -> None:
        assert self.component.depth == 0
        assert not self.score(PAIRS).any()
