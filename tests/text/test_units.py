from components.text.units import number_units, select_units


def test_equal_units_have_equal_numbers_in_any_text() -> None:
    units = number_units([["北京", "是"], [], ["是"]])
    assert len(units) == 3
    assert units.row(0)[1] == units.row(2)[0] != units.row(0)[0]
    assert units.row(1).tolist() == []


def test_unit_numbers_are_equal_in_every_process() -> None:
    """Kept results would be worthless otherwise; the number is the first 63 bits of BLAKE2b."""
    assert number_units([["北京"]]).ids.tolist() == [NUMBER]


NUMBER = 5358068699559294003


def test_lone_surrogate_is_a_unit() -> None:
    assert len(number_units([["\ud800"]]).ids) == 1


def test_take_selects_and_repeats_texts() -> None:
    units = number_units([["a"], ["b", "c"], []])
    taken = select_units(units, [1, 2, 1, 0])
    assert [taken.row(i).tolist() for i in range(4)] == [units.row(i).tolist() for i in (1, 2, 1, 0)]
    assert len(select_units(units, [])) == 0
