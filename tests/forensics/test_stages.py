"""The stage of the pipeline that the evidence of a sample reached."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from components.forensics.stages import EvidenceStage, FoundPiece, GoldUnit, SampleStage, find_stage

TOP_K = 2


def unit(*found: tuple[int, int, int], n_in_context: int = 0, n_characters: int | None = 100) -> GoldUnit:
    """Return a unit with these found pieces (rank, start, end)."""
    return GoldUnit(n_characters, n_in_context, [FoundPiece(*piece) for piece in found])


@pytest.mark.parametrize(
    ("gold", "stage", "rank_needed"),
    [
        (unit(n_characters=None), EvidenceStage.NOT_IN_CORPUS, None),
        (unit(), EvidenceStage.NOT_RETRIEVED, None),
        (unit((1, 0, 50)), EvidenceStage.CUT, None),
        (unit((1, 0, 50), (2, 50, 79)), EvidenceStage.CUT, None),
        (unit((2, 0, 50), (7, 50, 100)), EvidenceStage.CUT, 7),
        (unit((1, 0, 50), (7, 0, 90)), EvidenceStage.RANKED_LOW, 7),
        (unit((3, 0, 100)), EvidenceStage.RANKED_LOW, 3),
        (unit((3, 0, 40), (9, 40, 70)), EvidenceStage.RANKED_LOW, None),
        (unit((1, 0, 50), (2, 40, 80)), EvidenceStage.DROPPED, 2),
        (unit((1, 0, 100), n_in_context=79), EvidenceStage.DROPPED, 1),
        (unit((1, 0, 100), n_in_context=80), EvidenceStage.IN_CONTEXT, 1),
        (unit((9, 0, 100), n_in_context=100), EvidenceStage.IN_CONTEXT, 9),  # read as a neighbour of a hit
    ],
)
def test_gold_unit_is_lost_at_the_expected_stage(gold: GoldUnit, stage: EvidenceStage, rank_needed: int | None) -> None:
    assert find_stage([gold], TOP_K) == SampleStage(stage, rank_needed)


def test_sample_is_lost_at_the_first_stage_of_its_units() -> None:
    arrived, low = unit((1, 0, 100), n_in_context=100), unit((5, 0, 100))
    assert find_stage([arrived, low], TOP_K) == SampleStage(EvidenceStage.RANKED_LOW, 5)
    assert find_stage([arrived, low, unit()], TOP_K) == SampleStage(EvidenceStage.NOT_RETRIEVED, None)
    assert find_stage([low, unit(n_characters=None)], TOP_K) == SampleStage(EvidenceStage.NOT_IN_CORPUS, None)
    assert find_stage([arrived, arrived], TOP_K) == SampleStage(EvidenceStage.IN_CONTEXT, 1)


def test_sample_without_gold_has_the_no_gold_stage() -> None:
    assert find_stage([], TOP_K).stage is EvidenceStage.NO_GOLD
    assert find_stage([unit(n_characters=0)], TOP_K).stage is EvidenceStage.NO_GOLD


def test_theta_sets_the_required_share_of_a_unit() -> None:
    half = unit((1, 0, 50), n_in_context=50)
    assert find_stage([half], TOP_K, theta=0.5).stage is EvidenceStage.IN_CONTEXT
    assert find_stage([half], TOP_K).stage is EvidenceStage.CUT


@pytest.mark.parametrize(
    ("longest_hit", "stage"), [(None, EvidenceStage.CUT), (100, EvidenceStage.CUT), (99, EvidenceStage.IN_PART)]
)
def test_gold_longer_than_every_hit_is_in_part_and_not_cut(longest_hit: int | None, stage: EvidenceStage) -> None:
    assert find_stage([unit((1, 0, 50))], TOP_K, longest_hit=longest_hit).stage is stage
    below = unit((7, 0, 50))
    assert find_stage([below], TOP_K, longest_hit=longest_hit).stage is EvidenceStage.RANKED_LOW


def alternative(*found: tuple[int, int, int], one_of: int = 1, **fields: int | None) -> GoldUnit:
    return replace(unit(*found, **fields), one_of=one_of)


ARRIVED, LOW, LOST = {"n_in_context": 100}, (5, 0, 100), {"n_characters": None}


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (
            [alternative((1, 0, 100), **ARRIVED), alternative(), alternative(**LOST)],
            SampleStage(EvidenceStage.IN_CONTEXT, 1),
        ),
        ([alternative(), alternative(LOW)], SampleStage(EvidenceStage.RANKED_LOW, 5)),
        ([alternative(LOW), alternative((4, 0, 100))], SampleStage(EvidenceStage.RANKED_LOW, 4)),
        ([alternative(**LOST), alternative(**LOST)], SampleStage(EvidenceStage.NOT_IN_CORPUS, None)),
        ([alternative((1, 0, 100), **ARRIVED), alternative(one_of=2)], SampleStage(EvidenceStage.NOT_RETRIEVED, None)),
        ([alternative((1, 0, 100), **ARRIVED), alternative(), unit(LOW)], SampleStage(EvidenceStage.RANKED_LOW, 5)),
        ([alternative(n_characters=0), alternative(LOW)], SampleStage(EvidenceStage.RANKED_LOW, 5)),
    ],
)
def test_any_alternative_counts_as_found_gold(gold: Sequence[GoldUnit], expected: SampleStage) -> None:
    assert find_stage(gold, TOP_K) == expected


def test_verdict_on_whole_document_gold_found_in_part_is_uncertain() -> None:
    part = GoldUnit(1_000, 0, [FoundPiece(1, 0, 200)], is_document=True)
    assert find_stage([part], TOP_K) == SampleStage(EvidenceStage.CUT, None, is_uncertain=True)
    lost = GoldUnit(1_000, 0, [], is_document=True)
    assert find_stage([lost], TOP_K) == SampleStage(EvidenceStage.NOT_RETRIEVED, None)
    assert find_stage([part, lost], TOP_K) == SampleStage(EvidenceStage.NOT_RETRIEVED, None, is_uncertain=True)


def test_order_of_hits_inside_top_k_changes_no_stage() -> None:
    """We shuffle the first `top_k` hits of random units, and their contexts with them."""
    draw = random.Random(7)
    seen = set()
    for _ in range(400):
        top_k = draw.randint(1, 6)
        pieces = [_random_piece(draw) for _ in range(draw.randint(0, 8))]
        in_context = {rank for rank in range(1, top_k + 1) if draw.random() < 0.8}
        order = list(range(1, top_k + 1))
        draw.shuffle(order)
        moved = dict(enumerate(order, 1))
        stage = find_stage([_unit_of(pieces, in_context)], top_k)
        other = find_stage(
            [_unit_of([(moved.get(rank, rank), *own) for rank, *own in pieces], {moved[rank] for rank in in_context})],
            top_k,
        )
        assert other.stage is stage.stage
        if stage.rank_needed is None or stage.rank_needed > top_k:
            assert other.rank_needed == stage.rank_needed
        seen.add(stage.stage)
    assert len(seen) == 5, "the draws reach every stage of gold that is in the corpus"


def _random_piece(draw: random.Random) -> tuple[int, int, int]:
    start = draw.choice([0, 10, 40])
    return draw.randint(1, 10), start, draw.choice([start + 5, 50, 90, 100])


def _unit_of(pieces: Sequence[tuple[int, int, int]], in_context: set[int]) -> GoldUnit:
    held = {place for rank, start, end in pieces if rank in in_context for place in range(start, end)}
    return unit(*pieces, n_in_context=len(held))
