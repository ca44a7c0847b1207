from components.diversity.none import KeepAll
from tests.contracts.diversity_contract import HITS, DiversityContract


class TestKeepAll(DiversityContract):
    component = KeepAll()

    def test_keep_all_returns_every_hit(self) -> None:
        assert self.diversify(HITS) is HITS
