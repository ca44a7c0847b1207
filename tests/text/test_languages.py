import pytest

from components.datasets.demo import Demo
from components.text.languages import UNKNOWN, detect_language


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "大桥是什么时候通车的？"),
        ("zh", "2024年GDP同比增长率是多少？"),
        ("en", "When was the bridge opened, and by whom?"),
        ("en", "What was the FY2018 capital expenditure amount of 3M?"),
        ("de", "Wann wurde die Brücke eröffnet, und wer hat sie gebaut?"),
        ("fr", "Quand le pont a-t-il été ouvert ?"),
        ("es", "¿Cuándo se abrió el puente de la ciudad?"),
        ("ja", "橋はいつ開通しましたか。"),
        ("ko", "다리는 언제 개통되었습니까?"),
        (UNKNOWN, "Когда был открыт мост?"),
        (UNKNOWN, "大桥是什么时候通车的？ When was the bridge opened, and by whom was it built?"),
        (UNKNOWN, "2024-01-01"),
        (UNKNOWN, ""),
    ],
)
def test_languages_are_detected(language: str, text: str) -> None:
    assert detect_language([text]) == language


def test_bundled_benchmark_is_chinese() -> None:
    assert detect_language(Demo().load().documents.texts) == "zh"


def test_empty_text_list_has_no_language() -> None:
    assert detect_language([]) == UNKNOWN
