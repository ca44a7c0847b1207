"""Ideographs that a PDF file names by their radicals.

Fonts share one glyph between a radical and the ideograph of the same form. Programs that write PDF files, such as
Chrome, then store the radical's number, so that the text of the file has U+2ECB in place of U+8F66. Both look the same,
but no search and no tokenizer takes them for the same character.
"""

from unicodedata import normalize

_RADICALS = (
    "\u2e82\u2e83\u2e85\u2e89\u2e8b\u2e8e\u2e8f\u2e90\u2e92\u2e93\u2e94\u2e95\u2e96\u2e98\u2e99\u2e9b"
    "\u2e9e\u2e9f\u2ea0\u2ea1\u2ea3\u2ea4\u2ea6\u2ea8\u2eab\u2ead\u2eaf\u2eb0\u2eb1\u2eb2\u2eb3\u2eb9"
    "\u2eba\u2ebe\u2ebf\u2ec1\u2ec2\u2ec3\u2ec4\u2ec5\u2ec6\u2ec8\u2ec9\u2ecb\u2ecc\u2ecd\u2ece\u2ed0"
    "\u2ed1\u2ed2\u2ed3\u2ed4\u2ed6\u2ed8\u2ed9\u2eda\u2edb\u2edc\u2edd\u2edf\u2ee0\u2ee2\u2ee3\u2ee4"
    "\u2ee5\u2ee6\u2ee7\u2ee8\u2ee9\u2eea\u2eeb\u2eec\u2eed\u2eee\u2eef\u2ef0\u2ef1\u2ef2\u2ef3"
)
_IDEOGRAPHS = (
    "乛乚亻刂㔾兀尣尢巳幺彑彐忄扌攵旡歺母民氵灬爫丬犭罒礻糹纟罓罒㓁耂肀艹艹虎衤覀西见角讠贝车辶辶辶钅"
    "長镸长门阝青韦页风飞食飠饣马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙龜亀龟"
)
"""Ideographs of the same form in Noto CJK, one for each of `_RADICALS`. Unicode normalizes only two of them."""

_TABLE = {
    **{radical: normalize("NFKC", chr(radical)) for radical in range(0x2F00, 0x2FD6)},
    **dict(zip(map(ord, _RADICALS), _IDEOGRAPHS, strict=True)),
}

_DOOR = "\u2f3e"
"""The radical of 户, 戶 and 戸, which simplified Chinese, traditional Chinese and Japanese write for one word."""

_SIMPLIFIED = frozenset("们个这国时会说学对没为来开关点样长门问间电车见话请经过还后发无与东钱银业务产资险贷额账")
_TRADITIONAL = frozenset("們個這國時會說學對沒為來開關點樣長門問間電車見話請經過還後發無與東錢銀業務產資險貸額帳")


def restore_ideographs(text: str) -> str:
    """Return the text with ideographs in place of radicals. If the script matters, the rest of the text decides."""
    if _DOOR in text:
        text = text.replace(_DOOR, _choose_door(text))
    return text.translate(_TABLE)


def _choose_door(text: str) -> str:
    if any("\u3040" <= character <= "\u30ff" for character in text):  # kana
        return "戸"
    n_traditional = sum(character in _TRADITIONAL - _SIMPLIFIED for character in text)
    n_simplified = sum(character in _SIMPLIFIED - _TRADITIONAL for character in text)
    is_korean = any("\uac00" <= character <= "\ud7a3" for character in text)
    return "戶" if is_korean or n_traditional > n_simplified else "户"
