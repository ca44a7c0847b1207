from components.testset.windows import windows


def test_windows_are_whole_sentences_of_about_equal_length() -> None:
    text = "甲乙丙丁。" * 30
    pieces = windows(text, 100)
    assert [text[start:end] for start, end in pieces] == ["甲乙丙丁。" * 15] * 2


def test_windows_cover_every_visible_character_within_the_limit() -> None:
    text = " First one.  Second one is longer!\n\nThird.\n" * 20
    pieces = windows(text, 90)
    assert " ".join(text[slice(*piece)] for piece in pieces).split() == text.split()
    assert all(0 < end - start <= 90 for start, end in pieces)
    assert all(text[start].isalpha() for start, _ in pieces)


def test_window_ends_at_a_nearby_paragraph_end() -> None:
    table = "| a | b |\n" * 6
    text = f"{'One two. ' * 5}\n\n{table}\n{'Three four. ' * 5}"
    assert [text[start:end] for start, end in windows(text, 80)] == [
        ("One two. " * 5).strip(),
        table.strip(),
        ("Three four. " * 5).strip(),
    ]


def test_text_without_sentences_is_cut_into_windows() -> None:
    assert windows("x" * 25, 10) == [(0, 10), (10, 20), (20, 25)]


def test_blank_text_has_no_windows() -> None:
    assert windows("", 10) == windows(" \n\u3000 ", 10) == []
