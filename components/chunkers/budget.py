"""The size of chunks: its unit, the tokens of an overlap, and checks of both."""

from enum import StrEnum

from components.protocols import Tokenizer


class Unit(StrEnum):
    """The unit of a chunk's `size`: tokens of its tokenizer, or characters."""

    TOKEN = "token"  # noqa: S105 - not a password
    CHAR = "char"


def overlap_tokens(size: int, overlap: float) -> int:
    """Return the number of tokens that a chunk repeats from the chunk before it: `size * overlap`, rounded down."""
    # 0.29 * 100 is 28.999... in binary. Without the small addition, such overlaps would lose a token.
    return int(size * overlap + 1e-9)


def size_problems(size: int, overlap: float, unit: Unit, tokenizer: Tokenizer) -> list[str]:
    """Return one message per error in a size and an overlap; [] if both are valid."""
    problems = []
    smallest = 1 if unit is Unit.CHAR else tokenizer.max_tokens_per_character
    if size < smallest:
        problems.append(
            f"size: got {size}, expected at least {smallest}: one character can take that many "
            f"{'characters' if unit is Unit.CHAR else 'tokens'} of {type(tokenizer).__name__}"
        )
    if not 0 <= overlap < 1:
        problems.append(
            f"overlap: got {overlap}, expected a fraction of the size in [0, 1), "
            f"e.g. {overlap / 100 if 1 <= overlap < 100 else 0.1:g}"
        )
    elif size >= smallest and size - overlap_tokens(size, overlap) < smallest:
        problems.append(
            f"size and overlap: {size} with an overlap of {overlap:g} leaves {size - overlap_tokens(size, overlap)} "
            f"for new text in each chunk, fewer tokens than one character can need ({smallest}). "
            "Use a larger size or a smaller overlap."
        )
    return problems
