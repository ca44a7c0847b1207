"""The language of a run must be the language of its corpus."""

import pytest

from components.errors import ConfigError
from runner.testset.making.source_corpus import check_language

ENGLISH = ["The bridge was opened to the public in 1932, and it is painted green."]
CHINESE = ["大桥于1932年向公众开放，并被漆成绿色。"]


@pytest.mark.parametrize(
    ("named", "texts"), [("en", ENGLISH), ("zh", CHINESE), ("multi", CHINESE), ("zh", ["1932"]), ("fr", [])]
)
def test_matching_or_unknown_corpus_language_is_accepted(named: str, texts: list[str]) -> None:
    check_language(named, texts)


@pytest.mark.parametrize(("named", "texts", "expected"), [("zh", ENGLISH, "en"), ("en", CHINESE, "zh")])
def test_different_corpus_language_is_rejected_with_the_option_to_use(
    named: str, texts: list[str], expected: str
) -> None:
    with pytest.raises(ConfigError, match=f"got {named}, .* Use language={expected}, or language=multi"):
        check_language(named, texts)
