import pytest

from components.chunkers.budget import Unit, overlap_tokens, size_problems
from components.tokenizers.cl100k import Cl100k
from components.tokenizers.rjieba_words import RjiebaWords


@pytest.mark.parametrize(
    ("size", "overlap", "n_tokens"), [(128, 0.0, 0), (128, 0.1, 12), (100, 0.7, 70), (10, 0.3, 3), (5, 0.1, 0)]
)
def test_chunk_overlap_is_rounded_down(size: int, overlap: float, n_tokens: int) -> None:
    assert overlap_tokens(size, overlap) == n_tokens


@pytest.mark.parametrize(
    ("size", "overlap", "unit"),
    [(4, 0.0, Unit.TOKEN), (1, 0.0, Unit.CHAR), (512, 0.99, Unit.TOKEN), (8, 0.5, Unit.TOKEN)],
)
def test_valid_chunk_sizes_pass_the_check(size: int, overlap: float, unit: Unit) -> None:
    assert size_problems(size, overlap, unit, Cl100k()) == []


@pytest.mark.parametrize(
    ("size", "overlap", "unit", "said"),
    [
        (3, 0.0, Unit.TOKEN, ["size: got 3, expected at least 4: one character can take that many tokens of Cl100k"]),
        (0, 0.0, Unit.CHAR, ["size: got 0, expected at least 1"]),
        (128, 1.0, Unit.TOKEN, ["overlap: got 1.0, expected a fraction of the size in [0, 1)"]),
        (128, 30, Unit.TOKEN, ["overlap: got 30, expected a fraction of the size in [0, 1), e.g. 0.3"]),
        (128, -0.1, Unit.CHAR, ["overlap: got -0.1"]),
        (8, 0.7, Unit.TOKEN, ["size and overlap: 8 with an overlap of 0.7 leaves 3 for new"]),
        (2, 2.0, Unit.TOKEN, ["size: got 2", "overlap: got 2.0"]),
    ],
)
def test_size_check_rejects_invalid_sizes_and_overlaps(size: int, overlap: float, unit: Unit, said: list[str]) -> None:
    problems = size_problems(size, overlap, unit, Cl100k())
    assert len(problems) == len(said)
    for problem, beginning in zip(problems, said, strict=True):
        assert problem.startswith(beginning)


def test_one_word_chunks_pass_the_check() -> None:
    assert size_problems(1, 0.0, Unit.TOKEN, RjiebaWords()) == []
