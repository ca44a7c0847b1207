"""Habits of wording that a machine can see: in texts of the product, and in names of tests."""

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = ("analysis", "benchmarks", "components", "runner")

FIRST_WORDS = frozenset(
    {
        "as",
        "at",
        "by",
        "for",
        "from",
        "how",
        "in",
        "of",
        "on",
        "to",
        "what",
        "where",
        "whether",
        "who",
        "whoever",
        "with",
    }
)
"""A docstring begins with a verb or a noun."""

FIRST_WORDS_OF_TESTS = re.compile(
    r"test_(a|an|else|how|it|its|no|so|that|the|they|what|where|who)_|Test(How|It|Its|That|They|What|Where|Who)(?=[A-Z])"
)
"""Names with such a first word continue another name, hide their subject, or negate it."""

MAX_WORDS_OF_A_TEST = 12

VERBS = (
    "add|allow|change|choose|compute|convert|copy|correct|create|decompress|delete|deploy|download|drop|exclude|export|"
    "extract|fetch|fix|give|install|leave|make|move|name|omit|prepare|provide|put|quote|recompute|remove|rename|"
    "lower|raise|repair|replace|request|restore|run|save|select|set|shorten|split|start|take|train|try|update|upgrade|use|"
    "wait|wrap|write"
)
REMEDY_AFTER_A_MARK = re.compile(
    rf"[;:] (?:(?:to|if|for) [^;.:]{{2,70}},? )?`?(?:{VERBS})\b(?![:.=(_/-]|,| of\b| is\b)"
)
"""A remedy is a sentence."""

LIMITS = re.compile(r"(The )?([Mm]ost|[Ll]east|[Ff]ewest)\b")
"""The docstring of a limit begins with "Maximum" or "Minimum"."""

HABITS = re.compile(
    r"\b(anew|whoever|whosever|(?:is|are|was|were) told|(?:is|are) said|so many|so long as|so often)\b",
    re.IGNORECASE,
)
OTHER_FORMS = re.compile(
    r"(?:[Gg]ive|[Rr]epeat) the (?:same |sweep's )?command|(?:everything else is|stages are) cached"
    r"|no such (?:\w+,|(?:file|folder)\b)|is not one of\b|Known \w+: "
    r"|expected one of: \S|expected one(?: \w+)? or more\b"
    r"|expected (?:an? [\w ]+ )?(?:between|from|of) \d|expected \d+ or more\b"
    r"|(?<![;:]); expected\b(?!:)|another place\b"
)
"""Wordings of a case for which docs/extending.md, Messages, has another form."""

SUPERLATIVES = re.compile(r"^_?(MOST|LONGEST|LARGEST|HIGHEST|FEWEST|LEAST|SMALLEST|SHORTEST|LOWEST)(_|$)")
"""A limit is a `MAX_` or `MIN_` with a noun."""

MAX_WORDS = 40
"""Longest allowed sentence."""

_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*[-*] |\n\s{2,}")
_MARKS_OF_LISTS = re.compile(r"[|`{}\[\]=<>]| {2}")
"""Tables, code and formulas are no sentences."""

_Node = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class _Texts(NamedTuple):
    """Texts in the files of our packages, with their places."""

    documented: list[tuple[str, str, str]]
    """The place, the name and the text of every docstring."""
    comments: list[tuple[str, str]]
    messages: list[tuple[str, str]]
    """Strings of several words, docstrings among them."""
    constants: list[tuple[str, str]]
    """The place and the name of every constant that is assigned."""


@cache
def _texts() -> _Texts:
    """Read each file once for all tests. Syntax trees are not kept, because they are large."""
    texts = _Texts([], [], [], [])
    for file in sorted(file for package in PACKAGES for file in (REPOSITORY / package).rglob("*.py")):
        place, code = file.relative_to(REPOSITORY), file.read_text(encoding="utf-8")
        has_messages = not file.is_relative_to(REPOSITORY / "components" / "prompts")  # those are texts for models
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, _Node) and (text := ast.get_docstring(node)):
                name = file.stem if isinstance(node, ast.Module) else node.name
                texts.documented.append((f"{place}: {name}", name, text))
            elif has_messages and isinstance(node, ast.Constant) and _is_message(node.value):
                texts.messages.append((f"{place}:{node.lineno}", node.value))
            elif _is_constant(node):
                texts.constants.append((f"{place}:{node.lineno}", node.id))
        if "#" in code:
            for token in tokenize.generate_tokens(io.StringIO(code).readline):
                if token.type == tokenize.COMMENT:
                    texts.comments.append((f"{place}:{token.start[0]}", token.string))
    return texts


@cache
def _names_in_tests() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the place and the name of every test, and of every constant that tests assign."""
    tests, constants = list[tuple[str, str]](), list[tuple[str, str]]()
    for file in sorted((REPOSITORY / "tests").rglob("*.py")):
        place = file.relative_to(REPOSITORY)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if _is_constant(node):
                constants.append((f"{place}:{node.lineno}", node.id))
            elif (
                isinstance(node, _Node) and not isinstance(node, ast.Module) and node.name.startswith(("test_", "Test"))
            ):
                tests.append((f"{place}: {node.name}", node.name))
    return tests, constants


def _is_constant(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.isupper()


def _is_message(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.count(" ") > 2


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(text):
        if not _MARKS_OF_LISTS.search(sentence):
            yield " ".join(sentence.split())


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower())


def test_packages_have_docstrings_comments_and_messages_to_check() -> None:
    texts = _texts()
    assert len(texts.documented) > 3_000
    assert len(texts.comments) > 300
    assert len(texts.messages) > 3_000


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    assert [
        f"{place}: {text.splitlines()[0]}"
        for place, _, text in _texts().documented
        if _letters(text.split()[0]) in FIRST_WORDS
    ] == []


def test_docstrings_of_limits_do_not_begin_with_most_or_least() -> None:
    texts = [(place, text) for place, _, text in _texts().documented] + _texts().messages  # with those of constants
    assert [f"{place}: {text.splitlines()[0]}" for place, text in texts if LIMITS.match(text)] == []


@pytest.mark.parametrize(
    "text", ["Most requests for one check.", "The most cells that run.", "Least bytes.", "Fewest checks."]
)
def test_docstring_that_begins_with_most_or_least_is_found(text: str) -> None:
    assert LIMITS.match(text)


def test_names_of_tests_begin_with_a_subject() -> None:
    named, _ = _names_in_tests()
    assert len(named) > 3_000
    assert [place for place, name in named if FIRST_WORDS_OF_TESTS.match(name)] == []
    assert [place for place, name in named if name.count("_") > MAX_WORDS_OF_A_TEST] == []


def test_comments_and_messages_have_no_listed_habit() -> None:
    texts = [*_texts().comments, *_texts().messages]
    assert [f"{place}: {found[0]}" for place, text in texts if (found := HABITS.search(text))] == []


def test_messages_have_one_form_for_each_case() -> None:
    documented = {text for _, _, text in _texts().documented}
    assert [
        f"{place}: {found[0]}"
        for place, text in _texts().messages
        if inspect.cleandoc(text) not in documented and (found := OTHER_FORMS.search(text))
    ] == []


def test_messages_give_a_remedy_in_its_own_sentence() -> None:
    documented = {text for _, _, text in _texts().documented}
    assert [
        f"{place}: {found[0]}"
        for place, text in _texts().messages
        if inspect.cleandoc(text) not in documented and (found := REMEDY_AFTER_A_MARK.search(text))
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "out: already exists; choose another path",
        "a set differs; to change it, use import",
        "no key; set it (export K)",
        "float16 overflows in some models: try bfloat16",
    ],
)
def test_remedy_inside_a_sentence_is_found(text: str) -> None:
    assert REMEDY_AFTER_A_MARK.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "out: cannot be written; choose another place",
        "the disk is full. Give the same command again",
        "Finished stages are cached",
        "docs: no such folder, expected a corpus",
        "kind: got 'q', expected one of: qa, summary",
        "n: got -1, expected 0 or more",
        "n: got -1, expected a number of 0 or more",
        "share: got 2, expected a number between 0 and 1",
        "use: got none, expected one or more",
        "weights.word: no such search, expected one of words, dense",
        "root: is empty; expected a folder",
    ],
)
def test_other_forms_of_messages_are_found(text: str) -> None:
    assert OTHER_FORMS.search(text)


def test_limits_are_named_max_or_min() -> None:
    _, in_tests = _names_in_tests()
    assigned = [*_texts().constants, *in_tests]
    assert len(assigned) > 1_000
    assert [f"{place}: {name}" for place, name in assigned if SUPERLATIVES.search(name)] == []


def test_docstring_sentences_are_short() -> None:
    texts = [(place, text) for place, _, text in _texts().documented]
    assert [
        f"{place}: {sentence}"
        for place, text in texts
        for sentence in _sentences(text)
        if len(sentence.split()) > MAX_WORDS
    ] == []


def test_docstrings_do_not_repeat_the_name() -> None:
    assert [
        f"{place}: {text}"
        for place, name, text in _texts().documented
        if len(text.split()) <= 4 and _letters(text) in {_letters(name), _letters(name).removesuffix("s")}
    ] == []
