"""The limit on samples: fair, seeded, in order."""

import random
from collections import Counter

import pytest

from components.datasets.subsampling import allocate, limit_samples
from components.records import Kind, Sample


def make(subset: str, n_samples: int, topic: str | None = None) -> list[Sample]:
    name = f"{subset}/{topic}"
    return [Sample(f"{name}/{n}", subset, Kind.QA, "问?", ("答",), topic=topic) for n in range(n_samples)]


SAMPLES = [*make("create", 60), *make("read", 30), *make("update", 9), *make("delete", 1)]


def shares(limit: int) -> dict[str, int]:
    return dict(Counter(sample.subset for sample in limit_samples(SAMPLES, limit, 0)))


def test_limit_above_the_number_of_samples_keeps_all() -> None:
    for limit in (None, 100, 1000):
        assert limit_samples(SAMPLES, limit, 0) == tuple(SAMPLES)


def test_sample_shares_are_proportional_with_at_least_one_each() -> None:
    assert shares(50) == {"create": 30, "read": 15, "update": 4, "delete": 1}
    assert shares(10) == {"create": 5, "read": 3, "update": 1, "delete": 1}
    assert shares(4) == {"create": 1, "read": 1, "update": 1, "delete": 1}


def test_limit_below_the_number_of_subsets_takes_the_largest() -> None:
    assert shares(2) == {"create": 1, "read": 1}


@pytest.mark.parametrize("limit", range(1, 101))
def test_limited_samples_have_exactly_the_limit(limit: int) -> None:
    assert len(limit_samples(SAMPLES, limit, 3)) == limit


def test_limited_samples_keep_their_order() -> None:
    chosen = limit_samples(SAMPLES, 17, 0)
    assert list(chosen) == [sample for sample in SAMPLES if sample in chosen]


def test_limited_samples_depend_on_the_seed_and_not_on_the_order() -> None:
    shuffled = random.Random(0).sample(SAMPLES, len(SAMPLES))
    assert set(limit_samples(shuffled, 17, 0)) == set(limit_samples(SAMPLES, 17, 0))
    assert set(limit_samples(SAMPLES, 17, 0)) != set(limit_samples(SAMPLES, 17, 1))


def test_sample_limit_stratifies_topics_within_a_subset() -> None:
    samples = [sample for topic in ("funds", "big_data", "blockchain") for sample in make("finance", 5, topic)]
    assert Counter(sample.topic for sample in limit_samples(samples, 6, 0)) == {
        "funds": 2,
        "big_data": 2,
        "blockchain": 2,
    }


def test_allocation_gives_spare_places_to_the_largest_remainders() -> None:
    assert allocate({"a": 5, "b": 3, "c": 1}, 4, 0) == {"a": 2, "b": 1, "c": 1}
    assert allocate({"a": 7, "b": 4, "c": 3}, 7, 0) in ({"a": 4, "b": 2, "c": 1}, {"a": 3, "b": 2, "c": 2})


def test_allocation_never_exceeds_a_stratum() -> None:
    assert allocate({"a": 1, "b": 1, "c": 50}, 51, 0) == {"a": 1, "b": 1, "c": 49}
