import pytest

from components.asking.model_reply import (
    copies_placeholder,
    json_values,
    parse_flag,
    parse_whole_number,
    read_object,
    repeats_heading,
    strip_template,
    strip_thoughts,
)


@pytest.mark.parametrize(
    "text",
    [
        '{"reason": "对", "grade": 2}',
        '```json\n{"reason": "对", "grade": 2}\n```',
        '先看资料[1]，再看[2]。\n```\n{"reason": "对", "grade": 2}\n```\n以上。',
        "{'reason': '对', 'grade': 2,}",
        '{reason: "对", grade: 2}',
        '{"reason": "对", "grade": 2',
        "<think>也许是 {\"grade\": 0}？</think>{'reason': '对', 'grade': 2}",
        '……{"grade": 0}</think>\n{"reason": "对", "grade": 2}',
        '格式是 {"reason": "...", "grade": 0}。\n{"reason": "对", "grade": 2}',
        '{"reason": "对", "grade": 2} {"note": 0}',
        '｛"reason"："对"，"grade"：２｝',
        '{"reason":"对"，"grade"：２}',
        "{“reason”: “对”, “grade”: 2}",
    ],
)
def test_json_objects_are_read_from_replies(text: str) -> None:
    found = read_object(text, "grade")
    assert found is not None
    assert (found["reason"], parse_whole_number(found["grade"])) == ("对", 2)


def test_unescaped_quotes_and_line_breaks_in_a_reply_are_read() -> None:
    assert read_object('{"reason": "他说"好"，\n真的", "grade": 1}', "grade") == {
        "reason": '他说"好"，\n真的',
        "grade": 1,
    }


@pytest.mark.parametrize(
    ("text", "value"), [("2", "2"), (" **1**\n", "1"), ("<think>0?</think>-1", "-1"), ("２。", "２")]
)
def test_bare_value_is_read_as_the_field_of_an_object(text: str, value: str) -> None:
    assert read_object(text, "grade") == {"grade": value}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "The answer is correct [2].",
        "0 或 1",
        '{"reason": "对"}',
        '{"result": {"grade": 2}}',
        '<think>it must be {"grade": 2}',
        '<think>{"grade": 2}</think>',
    ],
)
def test_unreadable_reply_gives_no_object(text: str) -> None:
    assert read_object(text, "grade") is None


@pytest.mark.parametrize(
    "text",
    [
        'Example: {"grade": 0}. I cannot judge this.',
        'Example: {"reason": "wrong", "grade": 0}',
        'The format would be:\n```json\n{"reason": "...", "grade": 0}\n```',
        "例如：\n{'reason': '不对', 'grade': 0}",
        '回复的格式如 {"reason": "...", "grade": 0}，请提供答案。',
        '{"reason": "", "grade": 0}\n\nHowever, I am unable to judge this answer.',
        '{"grade": 0}\n由于没有答案，我无法判断。',
        'A reply of {"grade": 0} would be too hard.',
    ],
)
def test_examples_and_retracted_values_are_not_read(text: str) -> None:
    assert read_object(text, "grade") is None


@pytest.mark.parametrize(
    "text",
    [
        'Here is my verdict: {"reason": "for example, the year", "grade": 2}',
        '{"reason": "I cannot find fault; the format is fine", "grade": 2}',
        '{"reason": "right", "grade": 2}. Let me know if you want more.',
        'Example: {"grade": 0}\nVerdict:\n{"reason": "right", "grade": 2}</answer>',
        '{\n  "reason": "uses {answer}",\n  "grade": 2\n}\n',
        '{"grade": 2',
    ],
)
def test_answers_next_to_examples_are_read(text: str) -> None:
    found = read_object(text, "grade")
    assert found is not None
    assert found["grade"] == 2


@pytest.mark.parametrize(
    "value",
    [
        "0, 1 or 2",
        "1 or 2",
        "true or false",
        "0、1 或 2",
        "true 或 false",
        "0|1|2",
        "true/false",
        "1, 2, or 3",
        "-1 or 0",
    ],
)
def test_list_of_alternatives_is_not_read_as_a_value(value: str) -> None:
    assert read_object(f'{{"reason": "...", "grade": {value}, "quote": ""}}', "grade") is None
    assert read_object(f'{{"reason": "...", "grade": {value}}}', "grade") is None


@pytest.mark.parametrize("value", ['"red or blue"', '2, "quote": "1 or 2"', "2"])
def test_value_next_to_alternatives_in_another_field_is_read(value: str) -> None:
    assert read_object(f'{{"reason": "1 or 2", "grade": {value}}}', "grade") is not None


@pytest.mark.parametrize(
    ("text", "is_placeholder"),
    [("keyword", True), ("...", True), ("……", True), ("", True), ("tram", False), ("+", False)],
)
def test_placeholders_of_a_reply_form_are_recognized(text: str, is_placeholder: bool) -> None:
    assert copies_placeholder(text, 'Print {"texts": ["keyword", "keyword", ...]}') == is_placeholder


@pytest.mark.parametrize(
    ("text", "is_copied"),
    [
        ("[Document] Meters", True),
        ("A guide.\n  [A passage of it]\nMeters.", True),
        ("The question:\nHow long?", True),
        ("The question: How long?", True),
        ("【文档】水表", True),
        ("问题：多久？", True),
        ("Meters [Document] last eleven years.", False),
        ("[3] Meters last eleven years.", False),
        ("Short: eleven years.", False),
        ("It answers the question: eleven years.", False),
        ("", False),
    ],
)
def test_headings_of_a_prompt_are_recognized(text: str, is_copied: bool) -> None:
    prompt = (
        "[Document] {title}\n{document}\n[A passage of it]\n[3] {chunk}\n【文档】\nThe question:\n问题：\n"
        "Short: {question}\nIn {n} words:\n\nPrint one sentence."
    )
    assert repeats_heading(text, prompt) == is_copied


def test_json_values_include_lists_and_their_items() -> None:
    assert json_values('[{"n": 1}, {"n": 2}]')[:3] == [[{"n": 1}, {"n": 2}], {"n": 2}, {"n": 1}]
    assert json_values("no json") == []


@pytest.mark.parametrize(
    ("text", "rest"),
    [("a", "a"), ("<think>b</think>\n a", "a"), ("b</think>a", "a"), ("a<think>b", "a"), ("<think>b", "")],
)
def test_thoughts_are_removed_from_replies(text: str, rest: str) -> None:
    assert strip_thoughts(text) == rest


@pytest.mark.parametrize(
    ("value", "number"),
    [(2, 2), (-1, -1), (2.0, 2), ("2", 2), (" ２ ", 2), ("－1", -1), ("−1", -1), ("+1", 1), ("2分", 2), ("1.0", 1)],
)
def test_whole_numbers_are_read_in_every_form(value: object, number: int) -> None:
    assert parse_whole_number(value) == number


@pytest.mark.parametrize("value", [None, True, "", "两", "1/2", "1 2", 1.5, "1.5", "-", [1], {"grade": 1}, "9" * 5000])
def test_whole_number_rejects_other_values(value: object) -> None:
    assert parse_whole_number(value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        ("true", True),
        ("是", True),
        ("Yes", True),
        (1, True),
        (False, False),
        ("ＮＯ", False),
        ("否 ", False),
    ],
)
def test_flags_are_read_in_every_form(value: object, expected: bool) -> None:
    assert parse_flag(value) is expected


@pytest.mark.parametrize("value", [None, "", "maybe", "不适用", 2, [True]])
def test_flag_rejects_other_values(value: object) -> None:
    assert parse_flag(value) is None


@pytest.mark.parametrize("escape", [r"\ud83d", r"\ude00", r"\uDBFF x"])
def test_lone_surrogate_in_a_reply_is_left_out(escape: str) -> None:
    found = read_object(f'{{"reason": "so {escape}", "grade": 2}}', "grade")
    assert found is not None
    assert found["reason"].encode("utf-8").startswith(b"so")
    assert found["grade"] == 2


def test_surrogate_pair_in_a_reply_is_one_character() -> None:
    found = read_object(r'{"reason": "\ud83d\ude00", "grade": 2}', "grade")
    assert found == {"reason": "\U0001f600", "grade": 2}


@pytest.mark.parametrize(
    "text", ["[" * 20_000, '{"grade":' * 5_000, "{" * 400 + "}" * 400, '{"' * 30_000, '｛"' * 30_000, "[{'" * 30_000]
)
def test_repeated_brackets_contain_no_json_value(text: str) -> None:
    assert json_values(text) == []
    assert read_object(text, "grade") is None


def test_reply_form_of_the_prompt_is_removed_from_a_reply() -> None:
    prompt = 'Judge.\n\nPrint JSON: {"grades": [1, 4]}'
    assert (
        strip_template('Print JSON: {"grades": [1, 4]}\n{"grades": [2]}', prompt, is_alone=False) == '\n{"grades": [2]}'
    )
    assert strip_template('{"grades": [1, 4]}', prompt, is_alone=False) == '{"grades": [1, 4]}'
    assert strip_template('{"grades": [1, 4]}', prompt) == ""
    assert strip_template("Judge.", "Judge.") == "Judge."
