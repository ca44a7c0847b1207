import pytest

from components.testset.expressions import UnreadableExpression, compute


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(120 - 100) / 100", 0.2),
        ("(1,200－1,000)÷1,000×100%", 0.2),
        ("增长率 = (120-100)/100 = 20%", 0.2),
        ("3.5亿元 - 25000万元", 1e8),
        ("$1,200 - $1,000", 200),
        ("12% - 10%", 0.02),
        ("100 x 2", 200),
        ("(121/100)**(1/2) - 1", 0.1),
        ("2^10", 1024),
        ("30 million / 2 million", 15),
        ("-(3 - 5)", 2),
        ("7", 7),
    ],
)
def test_expressions_have_the_computed_values(expression: str, value: float) -> None:
    assert compute(expression).value == pytest.approx(value)


@pytest.mark.parametrize(
    "expression",
    [
        "", "   ", "增长", "1/0", "0**-1", "10**500", "9**9**9", "9.9**200", "(-8)**0.5", "a + 1",
        "__import__('os')", "[1, 2]", "True + 1", "10 // 3", "7 & 3", "1 if 2 else 3", "(" * 300, "-" * 499,
        "1" * 501, "1" * 400, "sum([1])", "'a' * 3", "1\x00", "1; 2",
    ],
)  # fmt: skip
def test_unreadable_expressions_are_errors(expression: str) -> None:
    with pytest.raises(UnreadableExpression):
        compute(expression)


def test_operands_keep_their_written_values_and_small_integers_are_counts() -> None:
    computed = compute("((3.5亿 + 12%) / 2) ** (1/3) - 100")
    assert [operand.value for operand in computed.operands] == [3.5, 12, 2, 1, 3, -100]
    assert computed.counts == {2, 1, 3}
