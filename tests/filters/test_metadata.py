from dataclasses import replace

import pytest

from components.errors import ComponentError
from components.filters.metadata import ByMetadata
from components.records import Condition, Documents
from tests.contracts.filter_contract import DOCUMENTS, SAMPLES, FilterContract, found_by_sample


class TestByMetadata(FilterContract):
    component = ByMetadata({"company": Condition(("ACME", "Globex"))})


class TestOfSamplesAlone(FilterContract):
    component = ByMetadata({})


def allowed_ids(by_sample: bool = True, **where: Condition) -> str:
    return found_by_sample(ByMetadata(where, by_sample).allow(SAMPLES[:1], DOCUMENTS))[0]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Condition(("2019",)), "a"),
        (Condition((2019.0, "2020")), "ab"),
        (Condition(at_least=1000), "ab"),  # 900 is less, though not as a text
        (Condition(at_least="1000"), "ab"),
        (Condition(at_most=2019), "ad"),
        (Condition(at_least=901, at_most=2019), "a"),
        (Condition(("nineteen",)), ""),
    ],
)
def test_metadata_numbers_compare_as_numbers(condition: Condition, expected: str) -> None:
    """A document without the name satisfies no condition."""
    assert allowed_ids(year=condition) == expected


def test_long_metadata_numbers_are_compared_exactly() -> None:
    numbers = ["12345678901234567890", "12345678901234567891"]
    documents = Documents(list("ab"), ["", ""], ["", ""], [{"number": number} for number in numbers])
    allowed = ByMetadata({"number": Condition((int(numbers[1]),))}).allow(SAMPLES[:1], documents)
    assert allowed.document.tolist() == [1]


def test_metadata_dates_compare_as_text() -> None:
    assert allowed_ids(date=Condition(at_least="2020-03-02")) == "d"
    assert allowed_ids(date=Condition(at_least="2020-03-01", at_most="2020-12-31")) == "b"


@pytest.mark.parametrize("value", ["NULL", "NaN", ".nan", "n/a", "-", "", "unknown"])
def test_words_for_missing_numbers_satisfy_no_limit(value: str) -> None:
    documents = Documents(list("ab"), ["", ""], ["", ""], [{"year": value}, {"year": "2021-05-03"}])
    for condition, expected in [(Condition(at_least=2021), [1]), (Condition(at_most="2022-01-01"), [1])]:
        allowed = ByMetadata({"year": condition}).allow(SAMPLES[:1], documents)
        assert allowed.document.tolist() == expected
    allowed = ByMetadata({"year": Condition((value,))}).allow(SAMPLES[:1], documents)
    assert allowed.document.tolist() == [0]


def test_metadata_filter_requires_all_conditions() -> None:
    assert allowed_ids(company=Condition(("ACME",)), year=Condition(at_least=0)) == "a"


def test_sample_conditions_are_added_to_the_filter() -> None:
    globex = replace(SAMPLES[1], conditions=(("company", Condition(("Globex",))),))
    samples = [SAMPLES[0], globex, SAMPLES[2]]
    fixed = {"year": Condition(at_least=901)}
    assert found_by_sample(ByMetadata(fixed).allow(samples, DOCUMENTS)) == ["ab", "b", "ab"]
    assert found_by_sample(ByMetadata(fixed, by_sample=False).allow(samples, DOCUMENTS)) == ["ab"] * 3
    assert ByMetadata(fixed).allow(samples, DOCUMENTS).n_groups == 2, "equal conditions share one"


def test_metadata_name_that_no_document_has_is_an_error() -> None:
    with pytest.raises(
        ComponentError, match="no document has 'yaer' among its metadata, expected one of year, company"
    ):
        allowed_ids(yaer=Condition(("2019",)))
    with pytest.raises(ComponentError, match="none has any metadata"):
        ByMetadata({"year": Condition((1,))}).allow(SAMPLES, Documents(["a"], [""], [""]))


def test_metadata_names_are_checked_before_any_work() -> None:
    samples = [replace(SAMPLES[0], conditions=(("compny", Condition(("ACME",))),))]
    where = {"yaer": Condition((1,)), "section": Condition(("1",)), "year": Condition((1,))}
    wanted = "among its metadata, expected one of company, year"
    assert ByMetadata(where).check_metadata(("company", "year"), samples) == [
        f"filter: no document has 'yaer' {wanted}; did you mean year?",
        f"filter: no document has 'compny' {wanted}; did you mean company?",
    ]
    assert len(ByMetadata(where, by_sample=False).check_metadata(("company", "year"), samples)) == 1


def test_metadata_filter_rejects_empty_conditions() -> None:
    assert ByMetadata({"year": Condition()}).check()[0].startswith("where.year: is empty")
    assert ByMetadata({}, by_sample=False).check()[0].startswith("where: is empty, and by_sample is false")
