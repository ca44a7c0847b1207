import pytest

from components.testset.quantities import Quantity, quantities


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("营收1,234.5万元", [Quantity(1234.5, 0.1, 1e4)]),
        ("增长１２．５％", [Quantity(12.5, 0.1, 0.01)]),
        ("增长率为-3%", [Quantity(-3, 1, 0.01)]),
        ("上升2.5个百分点", [Quantity(2.5, 0.1, 0.01)]),
        ("$3.5 billion", [Quantity(3.5, 0.1, 1e9)]),
        ("of 12 percent and .5", [Quantity(12, 1, 0.01), Quantity(0.5, 0.1)]),
        ("10-20", [Quantity(10, 1), Quantity(20, 1)]),
        ("二十三家", [Quantity(23, 1)]),
        ("两千零五", [Quantity(2005, 1)]),
        ("一万二千", [Quantity(12000, 1)]),
        ("三亿五千万", [Quantity(350_000_000, 1)]),
        ("二〇一九年", [Quantity(2019, 1)]),
        ("百分之十二点五", [Quantity(12.5, 1, 0.01)]),
        ("十家", [Quantity(10, 1)]),
        ("three shops", [Quantity(3, 1)]),
        ("百货、千方", []),
        ("COVID19与H2O", []),
        ("", []),
    ],
)
def test_numbers_are_found_with_their_units(text: str, found: list[Quantity]) -> None:
    assert quantities(text) == found


def test_quantity_is_read_as_written_and_as_meant() -> None:
    assert list(Quantity(3.5, 0.5, 1e8).readings()) == [(3.5, 0.5), (3.5e8, 0.5e8)]
    assert list(Quantity(3.5, 0.5).readings()) == [(3.5, 0.5)]
