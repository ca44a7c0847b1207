"""Quotes are found despite changed marks, but not with a changed number or negation."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from components.testset.quotes.finding import QuotePlace, find_quote
from components.text.sentences import sentence_ends

FULL_WIDTH = {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)}
HALF_WIDTH = {wide: narrow for narrow, wide in FULL_WIDTH.items()}
MARKS = "，。、；：“”\"'！？（）()《》"
BLANKS = (" ", "\n", "\u3000", "\u200b", "\u00a0", "\t ")
DEMO = Path("components/datasets/demo_data/documents.jsonl")

PURCHASE = "完成了对这家总部位于上海的企业的收购"

Mutation = Callable[[random.Random, str], str]


def _with_blank(draw: random.Random, quote: str) -> str:
    places = [place for place in range(1, len(quote)) if not quote[place - 1 : place + 1].isascii()]
    places += [place for place, character in enumerate(quote) if character == " "]
    return _at(quote, draw.choice(places), draw.choice(BLANKS)) if places else f"{quote}\n"


def _with_other_width(draw: random.Random, quote: str) -> str:
    return "".join(
        FULL_WIDTH.get(character, HALF_WIDTH.get(character, character)) if draw.random() < 0.7 else character
        for character in quote
    )


def _with_other_mark(draw: random.Random, quote: str) -> str:
    """Change or remove one mark, but not between digits, where it is part of the number."""
    places = [n for n, mark in enumerate(quote) if mark in MARKS and not re.match(r"\d.\d", quote[n - 1 : n + 2])]
    if not places:
        return quote + draw.choice("。，.")
    place = draw.choice(places)
    return quote[:place] + draw.choice(["", *MARKS]) + quote[place + 1 :]


def _with_other_digit(draw: random.Random, quote: str) -> str:
    place = draw.choice([n for n, character in enumerate(quote) if character in "0123456789"] or [-1])
    return quote[:place] + str((int(quote[place]) + draw.randint(1, 9)) % 10) + quote[place + 1 :] if place >= 0 else ""


def _with_other_negation(draw: random.Random, quote: str) -> str:
    places = [n for n, character in enumerate(quote) if character in "不没未无非"]
    if places:
        place = draw.choice(places)
        return quote[:place] + quote[place + 1 :]
    if " is " in quote or " was " in quote:
        return quote.replace(" is ", " is not ", 1).replace(" was ", " wasn't ", 1)
    return _at(quote, draw.randint(1, len(quote) - 1), draw.choice("不没未")) if not quote.isascii() else ""


HARMLESS: tuple[Mutation, ...] = (_with_blank, _with_other_width, _with_other_mark)
HARMFUL: tuple[Mutation, ...] = (_with_other_digit, _with_other_negation)


def _at(text: str, place: int, inserted: str) -> str:
    return text[:place] + inserted + text[place:]


def _demo_texts() -> list[str]:
    return [json.loads(line)["text"] for line in DEMO.read_text(encoding="utf-8").splitlines()]


def _crud_texts(folder: Path) -> list[str]:
    texts = []
    for file in sorted((folder / "crud_rag" / "80000_docs").iterdir())[::9]:
        texts += file.read_text(encoding="utf-8").split("\n")[:60]
    return [text for text in texts if len(text) > 100]


def _tables(folder: Path) -> list[str]:
    lines = (folder / "financerag" / "TATQA" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines[:60]]


def _quotes(draw: random.Random, texts: list[str], n: int) -> list[tuple[str, str]]:
    """(quote, text): one or two sentences that the text has once, with a word."""
    drawn: list[tuple[str, str]] = []
    while len(drawn) < n:
        text = draw.choice(texts)
        ends = [0, *sentence_ends(text).tolist()]
        first = draw.randrange(len(ends) - 1)
        quote = text[ends[first] : ends[min(len(ends) - 1, first + draw.choice([1, 1, 2]))]].strip()
        if len(quote) >= 8 and text.lower().count(quote.lower()) == 1 and re.search(r"[^\W\d]{2}", quote):
            drawn.append((quote, text))
    return drawn


def _words(text: str) -> str:
    return re.sub(r"^\W+|\W+$", "", text)


def _share_located(texts: list[str], n: int) -> float:
    draw = random.Random(0)
    n_located = 0
    for quote, text in _quotes(draw, texts, n):
        places = find_quote(draw.choice(HARMLESS)(draw, quote), [text])
        n_located += [_words(text[place.start : place.end]) for place in places] == [_words(quote)]
    return n_located / n


def _n_located_though_changed(texts: list[str], n: int) -> int:
    draw = random.Random(1)
    found = 0
    for quote, text in _quotes(draw, texts, n):
        changed = draw.choice(HARMFUL)(draw, quote)
        found += changed not in ("", quote) and changed not in text and bool(find_quote(changed, [text]))
    return found


def test_harmlessly_changed_demo_quotes_are_located() -> None:
    assert _share_located(_demo_texts(), 1000) >= 0.99
    assert _n_located_though_changed(_demo_texts(), 1000) == 0


def test_harmlessly_changed_news_quotes_are_located(shared_data: Path) -> None:
    assert _share_located(_crud_texts(shared_data), 1000) >= 0.99
    assert _n_located_though_changed(_crud_texts(shared_data), 1000) == 0


def test_harmlessly_changed_table_and_english_quotes_are_located(shared_data: Path) -> None:
    assert _share_located(_tables(shared_data), 300) >= 0.99
    assert _n_located_though_changed(_tables(shared_data), 300) == 0


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("营收为3亿元", "公司营收为3亿元。", "营收为3亿元"),  # unchanged
        ("营收 为3 亿元", "公司营收为3\n亿元。", "营收为3\n亿元"),  # without whitespace
        ("ＲＯＥ为１２％", "该公司RoE为12%，上升", "RoE为12%"),  # width and case
        ("the ﬁrst half of 2020", "In the first half of 2020 it", "the first half of 2020"),  # compatibility
        ("“董事长说，明年会好”", "他说:「董事长说明年会好」", "董事长说明年会好"),  # punctuation
        ("营收，增长３５％。", "营收增长35%。三年前", "营收增长35%"),  # and a number behind the mark at its end
        ("Zürich is the seat", "Its Zu\u0308rich is the seat.", "Zu\u0308rich is the seat"),  # composed and not
        (
            "The board of the company approved the merger on Monday evening in London",
            "Then the board of the company aproved the merger on Monday evenings in London.",
            "the board of the company aproved the merger on Monday evenings in London",
        ),  # nearly, with the ends as they are
    ],
)
def test_each_search_method_finds_its_quotes(quote: str, text: str, found: str) -> None:
    assert [text[place.start : place.end] for place in find_quote(quote, [text])] == [found]


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("营收为3.5亿元", "公司营收为35亿元。"),  # a point
        ("增长了3%", "同比增长了3。"),  # a percent sign
        ("增长率为3%", "增长率为-3%"),  # a sign
        ("5%的增长", "实现35%的增长"),  # a part of a number
        ("有三家门店", "共有二十三家门店"),
        ("营收3", "营收3.5亿元"),
        ("营收3", "营收3万元"),
        (f"公司在第三季度{PURCHASE}", f"公司在第四季度{PURCHASE}"),
        ("有利润", "公司没有利润"),  # the negation is left out
        ("increase its dividend", "The company did not increase its dividend"),
        ("profitable", "It was unprofitable"),
        (
            "The subsidiary was profitable during the whole of the fiscal year and paid tax",
            "The subsidiary was unprofitable during the whole of the fiscal year and paid tax",
        ),
        ("at level ).", "at level 3)."),
        ("同比增长33.3。1至7月，销量第一", "同比增长33.3%。1至7月，销量第一"),
        ("目的地是中东和北。", "目的地是中东和北非。"),
        ("with three branches in the whole of the country", "with nine branches in the whole of the country"),
        ("董事长", "总经理"),
        ("。。", "公司。。"),
        ("", "公司"),
        ("公司", ""),
        ("很长的引文" * 50, "很长的引文"),
    ],
)
def test_changed_quotes_are_not_found(quote: str, text: str) -> None:
    assert find_quote(quote, [text]) == []


def test_quote_has_every_place_of_its_best_match() -> None:
    texts = ["甲公司盈利。乙公司盈利。", "甲公司 盈利！", "丙"]
    assert find_quote("公司盈利", texts) == [QuotePlace(0, 1, 5), QuotePlace(0, 7, 11)]
    assert find_quote("公司盈 利", texts) == [QuotePlace(0, 1, 5), QuotePlace(0, 7, 11), QuotePlace(1, 1, 6)]
    long = "The board approved the merger on Monday evening in London"
    assert len(find_quote(long.replace("approved", "aproved"), [f"{long}. {long}."])) == 2


@pytest.mark.parametrize(
    "untrusted", ["\x00" * 1000, "<script>" * 2000, "😀" * 100_000, "\u202eabc", "(" * 100_000, "不" * 20_000]
)
def test_hostile_quotes_are_searched_quickly(untrusted: str) -> None:
    assert find_quote(untrusted, ["公司盈利。" * 20]) == []
    assert find_quote("公司亏损", [untrusted]) == []


def test_exact_quote_may_be_followed_by_a_number() -> None:
    quote = "室外气温是38℃。"
    assert find_quote(quote, [f"昨天，{quote}一位居民说。"]) == [QuotePlace(0, 3, 3 + len(quote))]
