"""The contract of every component that chooses examples."""

import numpy as np

from components.protocols import Examples
from components.records import Documents, Evidence, Kind, Sample, Turn
from tests.contracts.component_contract import ComponentContract

DOCUMENTS = Documents(
    tuple(f"d{n}" for n in range(8)), [f"Title {n}" for n in range(8)], [f"Fact {n} is so." for n in range(8)]
)


def sample_of(name: str, document: str, kind: Kind = Kind.QA, history: tuple[Turn, ...] = ()) -> Sample:
    """A question about a document."""
    return Sample(name, "s", kind, f"{name}?", (f"{name}.",), (Evidence(document),), history=history)


SAMPLES = (
    sample_of("a", "d0"),
    sample_of("b", "d1"),
    sample_of("c", "d2", Kind.CONVERSATION, (Turn("e?", "e."),)),
)
POOL = (
    sample_of("about the same document as a", "d0"),
    sample_of("e", "d3", Kind.CONVERSATION),  # the beginning of the conversation of c
    *(sample_of(f"example {n}", f"d{n}", kind) for n in range(4, 8) for kind in (Kind.QA, Kind.CONVERSATION)),
)


class ExamplesContract(ComponentContract):
    """Contract of components that choose examples."""

    component: Examples

    def test_component_implements_its_protocol(self) -> None:
        assert isinstance(self.component, Examples)

    def test_choose_returns_n_distinct_examples_per_sample(self) -> None:
        chosen = self.component.choose(SAMPLES, POOL, DOCUMENTS)
        assert chosen.shape == (len(SAMPLES), self.component.n)
        assert chosen.dtype == np.int32
        assert all(len(set(row)) == len(row) for row in chosen.tolist())

    def test_examples_share_the_kind_but_not_the_cluster_of_the_sample(self) -> None:
        for sample, row in zip(SAMPLES, self.component.choose(SAMPLES, POOL, DOCUMENTS).tolist(), strict=True):
            for place in row:
                assert POOL[place].question.startswith("example")
                assert POOL[place].kind is sample.kind

    def test_sample_is_never_its_own_example(self) -> None:
        chosen = self.component.choose(POOL, POOL, DOCUMENTS).tolist()
        assert all(place not in row for place, row in enumerate(chosen))

    def test_empty_batch_of_samples_gives_an_empty_result(self) -> None:
        assert self.component.choose((), POOL, DOCUMENTS).shape == (0, self.component.n)
