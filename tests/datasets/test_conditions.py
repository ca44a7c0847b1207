from math import inf, nan

import pytest

from components.datasets.conditions import read_conditions
from components.errors import DataError
from components.records import Condition, Kind, Sample
from runner.pipeline.corpus.sample_codec import decode_samples, encode_samples


def test_condition_is_read_as_a_value_list_or_bounds() -> None:
    record = {
        "conditions": {
            "year": 2020,
            "company": ["ACME", "Globex"],
            "date": {"at_least": "2020-01-01"},
            "n": {"at_most": 3},
        }
    }
    assert read_conditions(record, "line 1") == (
        ("year", Condition((2020,))),
        ("company", Condition(("ACME", "Globex"))),
        ("date", Condition(at_least="2020-01-01")),
        ("n", Condition(at_most=3)),
    )
    assert read_conditions({"conditions": {"n": 0, "name": ""}}, "line 1") == (
        ("n", Condition((0,))),
        ("name", Condition(("",))),
    )
    assert read_conditions({"conditions": {"public": True}}, "line 1") == (("public", Condition(("true",))),)
    zero = {"equals": 0, "at_least": -1}
    assert read_conditions({"conditions": {"n": zero}}, "line 1") == (("n", Condition((0,), at_least=-1)),)
    assert read_conditions({}, "line 1") == read_conditions({"conditions": None}, "line 1") == ()


@pytest.mark.parametrize("value", [None, [], {}, {"at_least": [1]}, {"at_leats": 1}, [["a"]], nan, {"at_most": inf}])
def test_invalid_condition_values_are_refused(value: object) -> None:
    with pytest.raises(DataError, match=r"line 1, field 'conditions', 'year': got .*, expected a string or a number"):
        read_conditions({"conditions": {"year": value}}, "line 1")


@pytest.mark.parametrize("value", [False, 0, "", []])
def test_conditions_that_are_neither_null_nor_an_object_are_rejected(value: object) -> None:
    with pytest.raises(DataError, match=r"line 1, field 'conditions': got a .*, expected an object"):
        read_conditions({"conditions": value}, "line 1")


def test_samples_without_conditions_keep_their_encoding() -> None:
    """Samples without conditions keep the content and the key that they had before conditions existed."""
    plain = Sample("1", "qa", Kind.QA, "?", ())
    asking = Sample("2", "qa", Kind.QA, "?", (), conditions=(("year", Condition((2020, "x"), at_most=1.5)),))
    assert "conditions" not in encode_samples([plain])[0]
    assert decode_samples(encode_samples([plain, asking])) == (plain, asking)
