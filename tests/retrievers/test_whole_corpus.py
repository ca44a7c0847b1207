"""The whole corpus, in its order, for every sample."""

import numpy as np

from components.chunkers.whole import WholeDocuments
from components.records import Documents, Hits, Kind, Sample, Spans
from components.retrievers.whole_corpus import WholeCorpus
from tests.retrievers.test_retrievers import RetrieverContract

DOCUMENTS = Documents(("a", "b", "c"), ("", "", ""), ("one", "two", "three"))
CHUNKS = Spans(*(np.array(own, dtype=np.int32) for own in ([0, 1, 2], [0, 0, 0], [3, 3, 5])))
SAMPLES = [Sample(name, "qa", Kind.QA, "?", ()) for name in ("s", "t")]


class TestWholeCorpus(RetrieverContract):
    component = WholeCorpus(WholeDocuments())


def picked(n: int, samples: list[Sample] = SAMPLES) -> Hits:
    return WholeCorpus(WholeDocuments()).pick(samples, DOCUMENTS, CHUNKS, n)


def test_whole_corpus_gives_every_sample_the_first_texts_in_order() -> None:
    assert picked(9).chunk.tolist() == [[0, 1, 2]] * 2
    assert picked(2).chunk.tolist() == [[0, 1]] * 2
    assert (np.diff(picked(9).score) < 0).all()


def test_whole_corpus_without_samples_gives_no_hits() -> None:
    assert len(picked(2, [])) == 0


def test_whole_corpus_rejects_zero_depth() -> None:
    assert WholeCorpus(WholeDocuments(), depth=0).check() == ["depth: got 0, expected at least 1 hit per query"]
