"""The stage of the pipeline at which the evidence of a sample was lost on its way into the prompt.

Evidence is counted in characters, as in passage coverage. A unit of gold has arrived if chunks together contain the
share `theta` of its characters, regardless of chunk boundaries. The order of hits within top_k does not matter.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

THETA = 0.8
"""The share of a gold unit's characters that counts as the whole unit."""


class EvidenceStage(StrEnum):
    """The stage at which the evidence was lost, in the order of the pipeline.

    - NOT_IN_CORPUS: its document is not in the corpus;
    - NOT_RETRIEVED: no hit contains a character of it;
    - CUT: the first `top_k` hits contain too little of it, and no hit contains enough: a chunk border splits it;
    - IN_PART: as CUT, but the evidence is longer than the longest hit;
    - RANKED_LOW: the first `top_k` hits contain too little of it, but lower hits contain more;
    - DROPPED: the first `top_k` hits contain enough of it, but did not fit into the context;
    - COMPRESSED: the chunks in the context contain enough of it, but not the parts that the compressor retained;
    - IN_CONTEXT: not lost;
    - NO_GOLD: the sample names no evidence;
    - NOT_SEARCHED: the cell retrieves nothing.
    """

    NOT_IN_CORPUS = "not_in_corpus"
    NOT_RETRIEVED = "not_retrieved"
    CUT = "cut"
    IN_PART = "in_part"
    RANKED_LOW = "ranked_low"
    DROPPED = "dropped"
    COMPRESSED = "compressed"
    IN_CONTEXT = "in_context"
    NO_GOLD = "no_gold"
    NOT_SEARCHED = "not_searched"


BROKEN = (
    EvidenceStage.NOT_IN_CORPUS,
    EvidenceStage.NOT_RETRIEVED,
    EvidenceStage.CUT,
    EvidenceStage.IN_PART,
    EvidenceStage.RANKED_LOW,
    EvidenceStage.DROPPED,
    EvidenceStage.COMPRESSED,
)
"""Stages that keep evidence out of the prompt, the earliest first."""

_IN_PARTS = (
    EvidenceStage.CUT,
    EvidenceStage.IN_PART,
    EvidenceStage.RANKED_LOW,
    EvidenceStage.DROPPED,
    EvidenceStage.COMPRESSED,
)
_ORDER = {stage: place for place, stage in enumerate((*BROKEN, EvidenceStage.IN_CONTEXT))}


@dataclass(frozen=True)
class FoundPiece:
    """The characters [start, end) of a gold unit that the hit at `rank` (from 1) contains, in place or as a copy."""

    rank: int
    start: int
    end: int


@dataclass(frozen=True)
class GoldUnit:
    """One unit of a sample's gold.

    `n_characters` is None if its document is not in the corpus. `n_in_context` of its characters are in the context,
    and `found` are the pieces of it in the hits. `is_document` marks a whole document. Units with the same `one_of`
    above 0 are alternatives. `n_chosen` of its characters were in the context before a compressor, or None if the cell
    has no compressor.
    """

    n_characters: int | None
    n_in_context: int = 0
    found: Sequence[FoundPiece] = ()
    is_document: bool = False
    one_of: int = 0
    n_chosen: int | None = None


@dataclass(frozen=True)
class UnitStage:
    """The stage of one unit.

    `rank_needed` is the rank down to which the hits contain enough of it, None if all hits together do not.
    `is_document` marks a whole document.
    """

    stage: EvidenceStage
    rank_needed: int | None
    is_document: bool = False


@dataclass(frozen=True)
class SampleStage:
    """The stage of a sample: the stage of the unit that was lost first.

    `rank_needed` is the rank down to which the hits contain enough of every unit, None if all hits together do not.
    `is_uncertain` means that the unit is a whole document. Annotators who label documents rarely mean every sentence.
    """

    stage: EvidenceStage
    rank_needed: int | None
    is_uncertain: bool = False


def find_stage(
    units: Sequence[GoldUnit], top_k: int, theta: float = THETA, longest_hit: int | None = None
) -> SampleStage:
    """Return the stage of a sample of a cell that retrieves.

    All units are needed. Of alternatives, only the unit that came furthest counts, as in passage coverage. Units
    without characters do not count. `longest_hit` is the number of characters of the sample's longest hit. A unit with
    more characters is longer than a chunk. If it is None (unknown), no unit counts as longer than a chunk.
    """
    sets: dict[tuple[int, int], list[UnitStage]] = {}
    for number, unit in enumerate(units):
        if unit.n_characters != 0:
            key = (unit.one_of, 0) if unit.one_of else (0, number)
            sets.setdefault(key, []).append(_unit_stage(unit, top_k, theta, longest_hit))
    if not sets:
        return SampleStage(EvidenceStage.NO_GOLD, None)
    stages = [_find_furthest(alternatives) for alternatives in sets.values()]
    earliest = min(stages, key=lambda unit_stage: _ORDER[unit_stage.stage])
    ranks = [unit_stage.rank_needed for unit_stage in stages if unit_stage.rank_needed is not None]
    return SampleStage(
        earliest.stage,
        max(ranks) if len(ranks) == len(stages) else None,
        earliest.is_document and _is_partly_there(earliest.stage, stages),
    )


def _find_furthest(alternatives: Sequence[UnitStage]) -> UnitStage:
    """Return the alternative that came furthest, with the smallest needed rank of all alternatives."""
    ranks = [alternative.rank_needed for alternative in alternatives if alternative.rank_needed is not None]
    furthest = max(alternatives, key=lambda alternative: _ORDER[alternative.stage])
    return replace(furthest, rank_needed=min(ranks, default=None))


def _is_partly_there(stage: EvidenceStage, stages: Iterable[UnitStage]) -> bool:
    """Return True if the lost evidence may not have been needed: part of a document, or one of several documents."""
    return stage in _IN_PARTS or (stage in BROKEN and any(unit_stage.stage is not stage for unit_stage in stages))


def _unit_stage(unit: GoldUnit, top_k: int, theta: float, longest_hit: int | None) -> UnitStage:
    if unit.n_characters is None:
        return UnitStage(EvidenceStage.NOT_IN_CORPUS, None, unit.is_document)
    enough = theta * unit.n_characters
    rank_needed = _rank_needed(unit.found, enough)
    stage = _loss_stage(unit, top_k, enough, rank_needed)
    is_longer_than_a_chunk = longest_hit is not None and unit.n_characters > longest_hit
    if stage is EvidenceStage.CUT and is_longer_than_a_chunk:
        stage = EvidenceStage.IN_PART
    return UnitStage(stage, rank_needed, unit.is_document)


def _loss_stage(unit: GoldUnit, top_k: int, enough: float, rank_needed: int | None) -> EvidenceStage:
    if unit.n_in_context and unit.n_in_context >= enough:
        return EvidenceStage.IN_CONTEXT  # possibly only through chunks around the hits
    if unit.n_chosen and unit.n_chosen >= enough:
        return EvidenceStage.COMPRESSED
    if not unit.found:
        return EvidenceStage.NOT_RETRIEVED
    if rank_needed is not None and rank_needed <= top_k:
        return EvidenceStage.DROPPED
    is_begun = any(piece.rank <= top_k for piece in unit.found)
    ranks = {piece.rank for piece in unit.found}
    is_whole = any(_n_covered(piece for piece in unit.found if piece.rank == rank) >= enough for rank in ranks)
    return EvidenceStage.CUT if is_begun and not is_whole else EvidenceStage.RANKED_LOW


def _rank_needed(pieces: Sequence[FoundPiece], enough: float) -> int | None:
    """Return the first rank down to which the pieces contain enough characters."""
    ranks = sorted({piece.rank for piece in pieces})
    return next((rank for rank in ranks if _n_covered(piece for piece in pieces if piece.rank <= rank) >= enough), None)


def _n_covered(pieces: Iterable[FoundPiece]) -> int:
    """Return the number of characters in the union of pieces."""
    n_covered = covered_until = 0
    for start, end in sorted((piece.start, piece.end) for piece in pieces):
        n_covered += max(0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return n_covered
