"""Radicals in the text of PDF files become the ideographs of the same form."""

from unicodedata import name, normalize

import pytest

from components.text.radicals import restore_ideographs


@pytest.mark.parametrize(
    ("text", "restored"),
    [
        ("\u2f24桥于去年通\u2ecb，\u2ed3度", "大桥于去年通车，长度"),
        ("账\u2f3e", "账户"),
        ("客\u2f3e帳\u2f3e", "客戶帳戶"),
        ("神\u2f3eの\u2f3e籍", "神戸の戸籍"),
        ("\u2f3e籍 호적", "戶籍 호적"),
        ("大桥 bridge ⿰", "大桥 bridge ⿰"),
    ],
)
def test_ideographs_replace_radicals(text: str, restored: str) -> None:
    assert restore_ideographs(text) == restored


def test_radicals_become_characters_that_normalization_leaves_alone() -> None:
    radicals = [chr(code) for code in (*range(0x2E80, 0x2EF4), *range(0x2F00, 0x2FD6))]
    restored = {radical: restore_ideographs(radical) for radical in radicals}
    changed = {radical: ideograph for radical, ideograph in restored.items() if radical != ideograph}
    assert len(changed) > 285
    for radical, ideograph in changed.items():
        assert name(ideograph).startswith("CJK UNIFIED IDEOGRAPH"), (radical, ideograph)
        assert normalize("NFKC", ideograph) == ideograph
