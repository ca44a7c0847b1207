import pytest

from components.text.similar_documents import contained_share, hash_shingles, overlap

SENTENCE = "The harbour of Port Elsa was sold in 1912 to a bank."


def test_contained_share_combines_several_texts() -> None:
    assert contained_share(SENTENCE, [f"Before it. {SENTENCE} After it."]) == 1
    assert contained_share(SENTENCE, [SENTENCE[:26], SENTENCE[15:]]) == 1
    assert contained_share(SENTENCE, [SENTENCE[:26]]) == pytest.approx(0.4, abs=0.1)


def test_empty_texts_contain_no_share() -> None:
    assert contained_share(SENTENCE, []) == contained_share(SENTENCE, [""]) == contained_share("", [SENTENCE]) == 0


def test_overlap_is_relative_to_the_shorter_text() -> None:
    assert overlap(hash_shingles(SENTENCE), hash_shingles(SENTENCE[:26])) == 1
    assert overlap(hash_shingles(SENTENCE[:26]), hash_shingles(f"{SENTENCE[:13]} and a lighthouse")) == pytest.approx(
        0.4, abs=0.1
    )
    assert overlap(hash_shingles(""), hash_shingles(SENTENCE)) == 0
