"""Samples as JSON, and back."""

from components.records import Evidence, Kind, Sample
from runner.pipeline.corpus.sample_codec import decode_samples, encode_samples


def test_samples_without_alternatives_keep_their_encoding() -> None:
    """The encoding of samples is hashed into stage keys."""
    (encoded,) = encode_samples([Sample("1", "qa", Kind.QA, "?", (), (Evidence("a"),))])
    assert encoded["gold"] == ({"document_id": "a", "start": None, "end": None, "grade": 1},)


def test_gold_alternatives_survive_encoding() -> None:
    sample = Sample(
        "1", "qa", Kind.QA, "?", (), (Evidence("a", one_of=1), Evidence("b", 1, 2, one_of=1), Evidence("c"))
    )
    assert decode_samples(encode_samples([sample])) == (sample,)
