"""Evaluation of a writer's expressions: sums, products and powers of numbers, and nothing else."""

import ast
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import add, mul, sub, truediv

from components.testset.quantities import SCALES, Quantity, quantities

MAX_CHARACTERS = 500
_MAX_EXPONENT, _MAX_VALUE = 200.0, 1e30

_SIGNS = str.maketrans(
    {"×": "*", "✕": "*", "·": "*", "÷": "/", "∕": "/", "−": "-", "–": "-", "—": "-", "[": "(", "]": ")"}
)
_EQUALS = re.compile(r"[=≈≒]")
_TIMES = re.compile(r"(?<=[\d)%])\s*[xX]\s*(?=[\d(])")
_OPERATOR = re.compile(r"[\d)%]\s*(?:[^\W\d]{1,8}\s*)?[-+*/^]")
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d,])")
_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_NUMBER = re.compile(
    rf"[$€£¥]?\s?(\d+(?:\.\d+)?|\.\d+)\s*(?:({_SCALE})(?![a-z]))?\s*(?:(%)|[^\W\d_]{{1,8}})?", re.IGNORECASE
)


class UnreadableExpression(ValueError):
    """An invalid expression, or one without a value. The message says why."""


@dataclass(frozen=True)
class ComputedValue:
    """The value of an expression, its numbers as written, and the numbers that may be counts.

    Counts are exponents, and divisors of sums.
    """

    value: float
    operands: tuple[Quantity, ...]
    counts: frozenset[float]


def compute(expression: str) -> ComputedValue:
    """Evaluate an expression of numbers with + - * / ** (also × ÷ ^) and brackets.

    It may contain percent signs, thousands separators, units of ten thousand, and a currency or another unit next to a
    number. If it contains equals signs, the first part with an operator counts.

    Raises UnreadableExpression for anything else, more than `MAX_CHARACTERS` characters, exponents above 200, a
    division by zero, and a value that is not a real number up to 1e30.
    """
    if len(expression) > MAX_CHARACTERS:
        raise UnreadableExpression(f"{len(expression)} characters, expected at most {MAX_CHARACTERS}")
    plain = _computing_part(unicodedata.normalize("NFKC", expression).translate(_SIGNS))
    try:
        tree = ast.parse(_NUMBER.sub(_to_python, plain).replace("^", "**").strip(), mode="eval")
        return ComputedValue(_require_bounded(_value(tree.body)), tuple(quantities(plain)), frozenset(_counts(tree)))
    except (SyntaxError, RecursionError, MemoryError, ValueError, ArithmeticError, TypeError) as error:
        raise UnreadableExpression(f"{expression}: {error}") from error


def _computing_part(text: str) -> str:
    parts = [_TIMES.sub(" * ", _THOUSANDS.sub(lambda n: n[0].replace(",", ""), part)) for part in _EQUALS.split(text)]
    return next((part for part in parts if _OPERATOR.search(part)), parts[0])


def _to_python(number: re.Match[str]) -> str:
    digits, scale, percent = number.groups()
    factors = [digits]
    factors += [repr(SCALES[scale.lower()])] if scale else []
    return f"({'*'.join(factors)}{'/100' if percent else ''})"


_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
}


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            return -_value(operand) if isinstance(sign, ast.USub) else _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            exponent = _value(right)
            if abs(exponent) > _MAX_EXPONENT:
                raise ValueError(f"an exponent of {exponent:g}, expected at most {_MAX_EXPONENT:g}")
            return _require_bounded(_value(left) ** exponent)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATIONS:
            return _require_bounded(_OPERATIONS[type(operator)](_value(left), _value(right)))
    raise ValueError(f"{ast.unparse(node)} is neither a number nor a sum, product or power")


def _require_bounded(value: float | complex) -> float:
    if isinstance(value, complex) or not math.isfinite(value) or abs(value) > _MAX_VALUE:
        raise ValueError("its value is not a real number within bounds")
    return value


def _counts(tree: ast.AST) -> Iterator[float]:
    """Yield the numbers in exponents and the divisors of sums: numbers of years, numbers of summands."""
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(op=ast.Pow(), right=exponent):
                yield from _constants(exponent)
            case ast.BinOp(left=ast.BinOp(op=ast.Add()), op=ast.Div(), right=ast.Constant() as divisor):
                yield from _constants(divisor)


def _constants(tree: ast.AST) -> Iterator[float]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield float(node.value)
