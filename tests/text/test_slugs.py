import re

from components.text.slugs import make_slug, make_slugs


def test_slugs_of_distinct_names_are_distinct() -> None:
    names = ["Retail banking", "retail-banking", "funds", "Ｆunds", "基金", "股票", "Banks/Retail", "100 %", "%"]
    slugs = make_slugs(["", *names, "funds"])
    assert set(slugs) == set(names)
    assert len(set(slugs.values())) == len(names)
    assert all(re.fullmatch("[a-z0-9_]+", slug) for slug in slugs.values())
    assert slugs["funds"] == "funds"
    assert slugs["Banks/Retail"] == "banks_retail"
    assert slugs["100 %"] == "100"


def test_slug_of_a_name_does_not_depend_on_other_names() -> None:
    assert make_slugs(["基金"])["基金"] == make_slugs(["股票", "基金", "基金 "])["基金 "]
    assert make_slugs(["Retail banking", "funds"])["Retail banking"] == make_slugs(["Retail banking"])["Retail banking"]


def test_slugs_of_chinese_names_are_distinct_by_hash() -> None:
    names = ["移动支付", "责任保险", "IT与零售", "IT", "it！", "客户知识产权（KYC）", "a/b c"]
    slugs = [make_slug(name) for name in names]
    assert all(re.fullmatch("[a-z0-9_]+", slug) for slug in slugs)
    assert len(set(slugs)) == len(names)
    assert slugs == [make_slug(name) for name in names]
    assert make_slug("IT与零售").startswith("it_")
