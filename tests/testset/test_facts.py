from components.testset.facts import facts


def test_numbers_and_names() -> None:
    found = facts('On 3 May the Bank of England raised rates to 5.25%, said "Blue Moon" of Mr Smith.')
    assert found == {"3", "May", "Bank", "England", "5.25", '"Blue Moon"', "Mr Smith"}


def test_chinese_names_in_marks_and_wide_digits() -> None:
    assert facts("２０２３年《人民日报》报道“一带一路”增长12.5%。") == {"2023", "《人民日报》", "“一带一路”", "12.5"}


def test_a_capital_at_the_beginning_of_a_sentence_is_no_name() -> None:
    assert facts("They left. Nobody asked.") == frozenset()
