"""The share that annotators accept, their agreement, and disjoint parts of a set."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from components.errors import ConfigError
from components.records import Documents, Evidence, Kind, Sample
from runner.results import released_set as content
from runner.testset.annotating.acceptance import acceptance, acceptance_csv, is_accepted, ratings_by_sample
from runner.testset.annotating.annotated_set import sample_per_cell
from runner.testset.annotating.annotations import Annotation, AnnotatorCheck
from runner.testset.annotating.annotator_agreement import annotator_agreement
from runner.testset.annotating.disjoint_parts import split

N = 60


def many(n: int = N) -> "content.Testset":
    """Return samples with a document each, alternating between two topics and two tasks."""
    texts = [f"Text number {number}, with some words." for number in range(n)]
    samples = [
        Sample(
            f"s{number:03d}",
            "all",
            Kind.QA,
            f"Question {number}?",
            ("yes",),
            (Evidence(f"d{number}", 0, 10),),
            ("sea", "land")[number % 2],
            ("qa", "=long")[number // 2 % 2],
        )
        for number in range(n)
    ]
    return content.Testset(Documents([f"d{number}" for number in range(n)], [""] * n, texts), tuple(samples))


SET = many()


def test_acceptance_intervals_equal_the_wilson_formula() -> None:
    ratings = {sample.id: [5 if number % 4 else 3] for number, sample in enumerate(SET.samples[:40])}
    whole, *cells = acceptance(SET, ratings)
    assert (whole.n_samples, whole.n_rated, whole.n_accepted) == (60, 40, {4: 30, 3: 40})
    share = whole.shares[4]
    assert share.value == pytest.approx(0.75)
    assert share.low is not None
    assert share.high is not None
    # Wilson's for 30 of 40 is 0.598 to 0.858; Student's t with 39 degrees of freedom is a little wider.
    assert (share.low, share.high) == pytest.approx((0.598, 0.858), abs=0.01)
    assert [(cell.topic, cell.task, cell.n_rated) for cell in cells] == [
        ("land", "=long", 10),
        ("land", "qa", 10),
        ("sea", "=long", 10),
        ("sea", "qa", 10),
    ]
    assert sum(cell.n_accepted[4] for cell in cells) == 30
    all_accepted = whole.shares[3]
    assert (all_accepted.value, all_accepted.high) == (1.0, 1.0)
    assert all_accepted.low is not None
    assert 0.85 < all_accepted.low < 0.95


def test_cells_without_a_rating_have_no_acceptance_share() -> None:
    whole, *cells = acceptance(SET, {"s000": [4]})
    assert whole.shares[4].value == 1.0
    assert whole.shares[4].low is None
    assert [cell.shares[4].value for cell in cells if (cell.topic, cell.task) != ("sea", "qa")] == [None] * 3
    rows = list(csv.reader(io.StringIO(acceptance_csv([whole, *cells]))))
    assert rows[0][:6] == ["topic", "task", "samples", "rated", "accepted at 4", "share at 4"]
    assert rows[1] == ["all", "all", "60", "1", "1", "1.0", "", "", "1", "1.0", "", ""]
    assert {row[1] for row in rows[2:]} == {"'=long", "qa"}


def test_sample_is_accepted_by_most_of_its_annotators() -> None:
    assert [is_accepted(own, 4) for own in ([4], [3], [4, 3], [5, 4, 1], [])] == [True, False, False, True, False]
    said = [Annotation("a", "x", rating=4), Annotation("a", "y"), Annotation("a", "z", rating=2)]
    assert ratings_by_sample(said) == {"a": [4, 2]}


def rated(annotator: str, shift: int) -> list[Annotation]:
    return [
        Annotation(
            sample.id,
            annotator,
            rating=1 + (number + (shift if number % 5 == 0 else 0)) % 5,
            checks={AnnotatorCheck.ANSWER: number % 3 == 0},
            gold=(Evidence(f"d{number}", 0, 10 + shift * 10),),
        )
        for number, sample in enumerate(SET.samples)
    ]


def test_agreement_of_two_annotators_has_alphas_and_intervals() -> None:
    found = annotator_agreement(SET, [*rated("bo", 1), *rated("ann", 0)])
    assert found.n_annotators == 2
    assert found.alphas["check_answer"].value == 1.0
    assert found.alphas["check_task"].value is None
    assert found.alphas["topic"].value is None
    rating = found.alphas["rating"]
    assert rating.value is not None
    assert 0.5 < rating.value < 1.0
    assert rating.low is not None
    assert rating.low < rating.value
    assert (found.marks.value, found.n_marked) == (pytest.approx(2 * 10 / 30), 60)
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.ratings.n, pair.ratings.accuracy.value) == ("ann", "bo", 60, 0.8)
    first, second = (np.array([own.rating for own in rated("", shift)]) for shift in (0, 1))
    by_chance = np.mean((first[:, np.newaxis] - second) ** 2)
    assert pair.ratings.weighted_kappa.value == pytest.approx(1 - np.mean((first - second) ** 2) / by_chance)


def test_connected_samples_count_as_one_cluster_of_agreement() -> None:
    joined = replace(SET, samples=tuple(replace(own, gold=(Evidence("d0"),)) for own in SET.samples))
    said = [*rated("bo", 1), *rated("ann", 0)]
    alone, together = (annotator_agreement(testset, said) for testset in (SET, joined))
    assert alone.alphas["rating"].value == together.alphas["rating"].value
    assert (together.alphas["rating"].low, together.marks.low) == (None, None)
    assert together.pairs[0].ratings.weighted_kappa.interval is None


def test_annotators_without_common_samples_have_no_agreement() -> None:
    found = annotator_agreement(SET, [Annotation("s000", "ann", rating=1), Annotation("s001", "bo", rating=2)])
    assert (found.n_annotators, found.alphas["rating"].value, found.marks.value, found.pairs) == (2, None, None, ())


def test_split_parts_share_no_group() -> None:
    paired = tuple(
        replace(own, gold=(Evidence(f"d{number // 3}"),)) for number, own in enumerate(SET.samples)
    )  # groups of three
    parts = split(replace(SET, samples=paired), {"train": 5, "dev": 1, "test": 4}, seed=3)
    assert [(part.name, len(part.samples), part.n_groups) for part in parts] == [
        ("train", 30, 10),
        ("dev", 6, 2),
        ("test", 24, 8),
    ]
    documents = [{unit.document_id for own in part.samples for unit in own.gold} for part in parts]
    assert sum(map(len, documents)) == len(set().union(*documents)) == 20
    assert split(replace(SET, samples=paired[::-1]), {"train": 5, "dev": 1, "test": 4}, seed=3)[0].samples != ()
    other = split(replace(SET, samples=paired), {"train": 5, "dev": 1, "test": 4}, seed=4)
    assert other[0].samples != parts[0].samples


def test_split_keeps_turns_of_a_conversation_together() -> None:
    provenance = {own.id: {"conversation": f"c{number // 30}"} for number, own in enumerate(SET.samples)}
    parts = split(replace(SET, provenance=provenance), {"a": 1, "b": 9}, seed=0)
    assert [(len(part.samples), part.n_requested) for part in parts] == [(30, 6.0), (30, 54.0)]


def test_split_keeps_samples_from_one_removed_document_together() -> None:
    provenance = {own.id: {"removed": [f"d{number // 30}"]} for number, own in enumerate(SET.samples)}
    parts = split(replace(SET, provenance=provenance), {"a": 1, "b": 9}, seed=0)
    assert [len(part.samples) for part in parts] == [30, 30]


def test_split_rejects_more_parts_than_groups() -> None:
    one = replace(SET, samples=tuple(replace(own, gold=(Evidence("d0"),)) for own in SET.samples))
    with pytest.raises(
        ConfigError, match=r"got 2 parts, but these \d+ samples form only 1 groups; samples that share a gold"
    ):
        split(one, {"a": 1, "b": 1}, seed=0)


def test_larger_draws_contain_smaller_draws_of_each_cell() -> None:
    few, more = (sample_per_cell(SET.samples, n, seed=1) for n in (2, 5))
    assert len(few) == 8
    assert len(more) == 20
    assert {own.id for own in few} < {own.id for own in more}
    assert [own.id for own in more] == sorted(own.id for own in more)
    assert sample_per_cell(SET.samples, 2, seed=2) != few
    assert sample_per_cell(SET.samples, None, seed=1) == list(SET.samples)
    assert len(sample_per_cell(SET.samples, 1000, seed=1)) == 60
