"""A secret is hidden whichever of its characters are escaped, and in whichever way. Other text stays unchanged."""

import base64
import html
import json
import random
import string
import time
from collections.abc import Callable, Iterator
from html.entities import html5
from urllib.parse import quote

import pytest

from components.secrets.known import secret_forms
from components.secrets.mask import Mask
from components.secrets.names import may_be_secret

_PLAIN = string.ascii_letters + string.digits
_ALPHABETS = {
    "base64": _PLAIN + "+/=",
    "base64 for addresses": _PLAIN + "-_.~",
    "password": _PLAIN + "/:@#?%&+='\"!$~^<>()[]{},;|`\\* ",
    "more than ASCII": _PLAIN + "é好ß€😀",
}
_PLACES = (("before ", " behind"), ('{"a": "', '"}'), ("http://h/x=", "?y=1"), ("<p>", "</p>"), ("\\n", "\\n"))
_N = 400

_ENTITIES: dict[str, list[str]] = {}
for _name, _character in html5.items():
    if _name.endswith(";"):
        _ENTITIES.setdefault(_character, []).append(f"&{_name}")


def _percent(character: str, chance: random.Random) -> str:
    return "".join(chance.choice((f"%{byte:02x}", f"%{byte:02X}")) for byte in character.encode())


def _unicode(character: str, backslashes: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"{backslashes}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def written(character: str, chance: random.Random) -> Iterator[str]:
    """Yield the ways to write a character. Escapes within escapes are among them."""
    code = ord(character)
    backslashes = "\\" * chance.randint(1, 4)
    yield character
    yield _percent(character, chance)
    yield _percent(character, chance).replace("%", "%25")
    yield _unicode(character, backslashes)
    yield _unicode(character, backslashes).replace("\\", "%5C")
    yield f"{backslashes}u{{{code:x}}}"
    for entity in (f"&#{code};", f"&#{code:03};", f"&#x{code:X};", f"&#X{code:04x};", *_ENTITIES.get(character, ())):
        yield entity
        yield entity.replace("&", "&amp;")
        yield entity.replace("&", "%26").replace("#", "%23").replace(";", "%3B")
    if code < 128:
        yield f"{backslashes}x{code:02x}"
    if code < 128 and not character.isalnum():
        yield f"{backslashes}{character}"


def _mixed(secret: str, chance: random.Random) -> str:
    return "".join(chance.choice(list(written(each, chance))) for each in secret)


def _signs_only(secret: str, chance: random.Random) -> str:
    """Escape some of the signs in one way, as most programs do."""
    way = chance.randrange(1, 9)
    escaped = {each for each in secret if not (each.isascii() and each.isalnum()) and chance.random() < 0.6}
    return "".join(list(written(each, chance))[way] if each in escaped else each for each in secret)


def _octal(secret: str, chance: random.Random) -> str:
    backslashes = "\\" * chance.randint(1, 4)
    return "".join(
        each if chance.random() < 0.4 else "".join(f"{backslashes}{byte:03o}" for byte in each.encode())
        for each in secret
    )


def _css(secret: str, chance: random.Random) -> str:
    """A space ends an escape, unless it has six digits."""
    backslashes = "\\" * chance.randint(1, 4)
    ways = ("{each}", "{backslashes}{code:02x} ", "{backslashes}{code:06X}{space}")
    return "".join(
        chance.choice(ways).format(each=each, code=ord(each), backslashes=backslashes, space=" " * each.isspace())
        for each in secret.replace(" ", "_")
    )


def _secret(alphabet: str, chance: random.Random) -> str:
    """A secret between letters. A quote or a backslash at an end may remain."""
    while True:
        inner = "".join(chance.choices(alphabet, k=chance.randint(10, 46)))
        secret = f"{chance.choice('ghkz')}{inner}{chance.choice('ghkz')}"
        n_signs = sum(map(secret.count, "'\"\\"))
        if may_be_secret(secret) and "://" not in secret and len(secret) - n_signs >= 8:
            return secret


@pytest.mark.parametrize("escape", [_mixed, _signs_only])
@pytest.mark.parametrize("alphabet", _ALPHABETS)
def test_secret_is_hidden_for_all_escapes(alphabet: str, escape: Callable[[str, random.Random], str]) -> None:
    chance = random.Random(f"{alphabet} {escape.__name__}")
    for _ in range(_N):
        secret = _secret(_ALPHABETS[alphabet], chance)
        mask = Mask(secret_forms({"MY_API_KEY": secret}))
        before, behind = chance.choice(_PLACES)
        text = f"{before}{escape(secret, chance)}{behind}"
        assert mask.hide_known(text) == f"{before}***{behind}", (secret, text)
        assert mask.holds_known(text)


@pytest.mark.parametrize("escape", [_octal, _css])
@pytest.mark.parametrize("alphabet", _ALPHABETS)
def test_secret_is_hidden_in_octal_and_css(alphabet: str, escape: Callable[[str, random.Random], str]) -> None:
    chance = random.Random(f"{alphabet} {escape.__name__}")
    for _ in range(_N):
        secret = _secret(_ALPHABETS[alphabet].replace(" ", "").replace("\\", ""), chance)
        mask = Mask(secret_forms({"MY_API_KEY": secret}))
        text = f"a: {escape(secret, chance)}| b"
        assert mask.hide_known(text) == "a: ***| b", (secret, text)
        assert mask.holds_known(text)


@pytest.mark.parametrize("secret", ["'ab/12cd+34'", '"ab/12cd+34"', "ab'/12cd\"34'"])
@pytest.mark.parametrize(
    "written",
    [str, json.dumps, repr, html.escape, lambda each: json.dumps(each)[1:-1], lambda each: quote(each, safe="")],
)
def test_quotes_at_the_ends_of_a_secret_are_hidden_with_it(secret: str, written: Callable[[str], str]) -> None:
    mask = Mask(secret_forms({"MY_API_KEY": secret}))
    for before, behind in (("a: ", " b"), ("\\a &lt; ", " %")):
        assert mask.hide_known(f"{before}{written(secret)}{behind}").replace('"***"', "***").replace(
            "'***'", "***"
        ) == (f"{before}***{behind}")


def test_text_without_the_secret_is_unchanged() -> None:
    chance = random.Random(6)
    secrets = {f"{name}_KEY": _secret(alphabet, chance) for name, alphabet in _ALPHABETS.items()}
    mask = Mask(secret_forms(secrets))
    for _ in range(_N * 2):
        alphabet = chance.choice(list(_ALPHABETS.values()))
        text = _mixed("".join(chance.choices(alphabet + "\n%&\\", k=chance.randint(1, 80))), chance)
        near = [_mixed(secret[:-4], chance) for secret in secrets.values()]
        for each in (text, text.join(near)):
            assert mask.hide_known(each) == each
            assert not mask.holds_known(each)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (r"a \u002Fx9/Ab%2Bcd&#x3D; b", "a *** b"),
        (r'{"a": "\/x9\/Ab+cd="}', '{"a": "***"}'),
        (r'{"a": "\\\/x9\\\/Ab+cd="}', '{"a": "***"}'),
        ("&sol;x9/Ab&plus;cd&equals;&amp;", "***&amp;"),
        ("/x9/Ab%252Bcd%253d, /x9/Ab+cd= and %2Fx9%2fAb+cd=é", "***, *** and ***é"),
        ("%2Fx9/Ab+cd=%2Fx9/Ab+cd=", "******"),
    ],
)
def test_mask_keeps_the_text_around_an_escaped_secret(text: str, safe: str) -> None:
    assert Mask(secret_forms({"MY_API_KEY": "/x9/Ab+cd="})).hide_known(text) == safe


def test_base64_of_a_secret_is_hidden_for_all_escapes() -> None:
    chance = random.Random(7)
    for _ in range(_N):
        secret = _secret(_ALPHABETS["password"], chance)
        encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
        mask = Mask(secret_forms({"MY_API_KEY": secret}))
        *inner, last = (chance.choice(list(written(each, chance))) for each in encoded)
        text = f"Basic {''.join(inner)}"
        assert mask.hide_known(f"{text}{last} x") in (
            "Basic *** x",
            f"Basic ***{last} x",
        )  # its last bits may be others


@pytest.mark.parametrize(
    "piece",
    ["\\", "%25", "25", "%", "&#", "&amp;", "amp;", "\\u005c", "\\x", "%5c", "&#0", "0", "\\ud83d", "&a", "%26amp%3B"],
)
def test_masking_many_escape_signs_takes_linear_time(piece: str) -> None:
    mask = Mask(secret_forms({f"A{number}_KEY": f"sk-Ab+/{number}%cdefgh'\\x4" for number in range(20)}))
    mask.hide_known("%25")
    text = {"25": "%", "amp;": "&", "0": "&#"}.get(piece, "") + piece * (10**6 // len(piece))
    began = time.process_time()
    assert mask.hide_known(text) == text
    assert time.process_time() - began < 10
