"""Forms in which texts are compared."""

import ast
from hashlib import sha256
from random import Random

import pytest
import sacrebleu
from rouge_chinese import Rouge

from components.protocols import TextForm
from components.text.forms import (
    AnswerWords,
    OmniEvalAnswer,
    OmniEvalCharacters,
    RougeChineseWords,
    SacreBleuTokens,
    TextWords,
    WholeAnswer,
)
from components.text.normalize import ANSWER_FORM_VERSION, answer_form
from components.tokenizers.jieba_words import JiebaWords
from tests.runner.sweeping import REPOSITORY

FORMS = (
    TextWords(), TextWords(white_space=True), AnswerWords(), WholeAnswer(), SacreBleuTokens(), OmniEvalAnswer(),
    OmniEvalCharacters(), RougeChineseWords(),
)  # fmt: skip


def units(form: TextForm, text: str) -> list[str]:
    (found,) = form.units([text])
    return list(found)


@pytest.mark.parametrize("form", FORMS, ids=repr)
def test_every_form_implements_its_protocol(form: TextForm) -> None:
    assert isinstance(form, TextForm)
    assert isinstance(type(form).version, int)
    assert hash(form) == hash(form)
    assert [list(found) for found in form.units([])] == []
    assert [list(found) for found in form.units(["北京", "b c"])] == [units(form, "北京"), units(form, "b c")]


def test_text_words_include_white_space_only_if_set() -> None:
    assert units(TextWords(), "北京 是\n首都") == ["北京", "是", "首都"]
    assert units(TextWords(white_space=True), "北京 是\n首都") == ["北京", " ", "是", "\n", "首都"]


def test_changed_answer_forms_require_a_new_version() -> None:
    """Stores contain results of the forms under keys that include the version."""
    texts = [
        "净申购26.5亿份−22.0亿份=4.5亿份", "增长-3.5%", "图-160", "10万-20万元", "1,000.50 and 1,2", "-$5 or $-5",
        "支出3,500万元，4,240人", "1e-5 10^-5", "ＡＢＣ，北京！", ".5", "COVID-19", "１／２  a\u200bb",
    ]  # fmt: skip
    forms = "\n".join(map(answer_form, texts))
    assert (ANSWER_FORM_VERSION, sha256(forms.encode()).hexdigest()[:16]) == (4, "58fbcffc9517281d")


def test_versions_of_dependent_classes_include_the_form_version() -> None:
    """A module with versioned classes that imports `answer_form`, directly or through modules without such classes."""
    trees = {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for package in ("components", "runner")
        for path in (REPOSITORY / package).rglob("*.py")
    }
    imports = {
        module: {
            (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for module, tree in trees.items()
    }
    normalize = answer_form.__module__
    reached, waiting = set[str](), [module for module in trees if (normalize, "answer_form") in imports[module]]
    versioned = {module for module, tree in trees.items() if _has_versions(tree)}
    while waiting:
        module = waiting.pop()
        if module in reached:
            continue
        reached.add(module)
        if module not in versioned:
            waiting += [other for other in trees if module in {name for name, _ in imports[other]}]
    assert {"components.metrics.abstention", "components.judges.quest_eval", "components.text.forms"} <= reached
    lacking = [each for each in reached & versioned if (normalize, "ANSWER_FORM_VERSION") not in imports[each]]
    assert sorted(lacking) == []


def _has_versions(tree: ast.Module) -> bool:
    return any(
        isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", "") == "version"
        for cls in tree.body
        if isinstance(cls, ast.ClassDef)
        for statement in cls.body
    )


def test_answers_have_their_normal_forms() -> None:
    assert units(AnswerWords(), "ＡＢＣ，北京！") == ["abc", "北京"]
    assert units(WholeAnswer(), " ＡＢＣ，北京！") == ["abc北京"]
    assert units(WholeAnswer(), "。") == []
    assert units(OmniEvalAnswer(), " The ABC, 北京！") == ["abc 北京！"]
    assert units(OmniEvalAnswer(), "...") == [""]
    assert units(OmniEvalCharacters(), "北京 b") == list("北京   b")  # the blank is a word between two blanks


@pytest.mark.parametrize("text", ["会议于8月15日举行。", "The cat, the U.S. cat.", "", " \n"])
@pytest.mark.parametrize(("language", "tokenizer"), [("zh", "zh"), ("en", "13a")])
def test_sacrebleu_tokens_equal_the_package(text: str, language: str, tokenizer: str) -> None:
    expected = sacrebleu.BLEU(tokenize=tokenizer).tokenizer(text).split()
    assert units(SacreBleuTokens(language), text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "北京是首都。上海不是！",
        "第一行\n第二行",
        "第一段。\n\n第二段",
        "第一段。\n \n　第二段\n",
        "\n\n开头",
        "等等……",
        "多多........点",
        "等等......#9",
        "他说：“好。”然后走了",
    ],
)
def test_rouge_chinese_words_equal_the_package(text: str) -> None:
    """We compare with the words that rouge_chinese's sentence splitter returns for the same joined words."""
    joined = " ".join(JiebaWords().tokenize([text])[0])
    found = units(RougeChineseWords(), text)
    sentences = [" ".join(line.split()) for line in Rouge().cut_sent(joined) if line]
    assert found == [word for sentence in sentences for word in sentence.split(" ")]


def test_unknown_language_of_sacrebleu_tokens_is_an_error() -> None:
    assert SacreBleuTokens("fr").check() == ["language: got 'fr', expected one of zh, en, char"]


def test_chinese_tokens_of_random_texts_equal_sacrebleu() -> None:
    """We tokenize only the runs between Chinese characters with sacreBLEU, so their neighbours must not matter."""
    tokenize = sacrebleu.BLEU(tokenize="zh").tokenizer
    random = Random(0)
    alphabet = "中国一。，、！（）《》…“”·㐀〇 \u3000\u00a0\n\t.,-+%&<>\"'()[]/:a B0 1 2 9é ¥￥😀\u200b"
    texts = ["".join(random.choices(alphabet, k=random.randrange(14))) for _ in range(20_000)]
    texts += ["<skipped>&quot;&amp;", "营收12,350.5万元（-3.2%）。", "A.B.中.C,1,中1-中-1", "中" + "a.b, " * 40 + "中"]
    texts += [f"{x}{chr(code)}{y}" for code in range(0x3000, 0x3020) for x in "中a" for y in "中1"]
    texts += [f"a{chr(code)}1" for code in [*range(0x4E00, 0xA000), *range(0xFF00, 0xFF62)]]
    expected = [tokenize(text.rstrip()).split() for text in texts]
    assert [list(tokens) for tokens in SacreBleuTokens("zh").units(texts)] == expected
