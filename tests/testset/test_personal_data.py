import pytest

from components.testset.personal_data import personal_data


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("联系人邮箱zhang.san@example.com。", ["email"]),
        ("Ｚ＠ｅｘａｍｐｌｅ．ｃｏｍ", ["email"]),
        ("手机138 0013 8000", ["phone"]),
        ("手机13800138000，", ["phone"]),
        ("电话010-62345678", ["phone"]),
        ("call +44 20 7946 0958 now", ["phone"]),
        ("call (212) 555-0182", ["phone"]),
        ("身份证号11010519491231002X", ["identity_number"]),
        ("卡号6222 0212 3456 7890 128", ["card_number"]),
        ("card 4111 1111 1111 1111", ["card_number"]),
        ("card 4111-1111-1111-1112", []),
        ("身份证号110105194912310021", []),  # the check character is another
        ("编号110105194913310020", []),  # no month has this number
    ],
)
def test_personal_data_is_found(text: str, kinds: list[str]) -> None:
    assert list(personal_data(text)) == kinds


@pytest.mark.parametrize(
    "text",
    [
        "2023年营收为13,800,138,000元，同比增长12.5%",
        "从2019-05-01到2020-12-31",
        "热线12345，邮编100027",
        "$1,380,013,800 and 123-456",
        "股票代码600519.SH，沪深300",
        "ISBN 9787111111111",
        "the ratio 0.13800138000",
        "user@localhost",
        "+" * 10_000 + "1" * 10_000,
        "a@" * 20_000,
        "1 " * 20_000,
    ],
)
def test_harmless_numbers_are_not_personal_data(text: str) -> None:
    assert personal_data(text) == {}
