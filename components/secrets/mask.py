"""The mask for messages, answers and files.

`mask_text` is for messages. It hides the secrets of the environment in all encodings, and anything that looks like a
secret: passwords and keys in addresses, headers, keys of well-known providers, assignments to secret-like names.
`without_secrets` is for answers and data. It hides the secrets of the environment only, so that other text stays
unchanged.
"""

import os
import re
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from components.json_value import Json
from components.secrets.escapes import EscapedSecrets, has_escapes
from components.secrets.known import marked_variables, secret_forms
from components.secrets.names import (
    KEY_SHAPE,
    USERINFO,
    field_names_secret,
    is_variable_name,
    may_be_secret,
    names_secret,
)

HIDDEN = "***"

_PARAMETER = re.compile(r"""(?<=[?&#;])([\w.%-]+)=([^\s&#;"'<>]+)""")
_BEARER = re.compile(r"\bBearer[ +]+(?=[^\s\"',}]{0,200}\d)[\w.~+/=-]{8,}")
_BASIC = re.compile(r"\bBasic +([\w+/=-]{4,})")
_FIELD = re.compile(  # "name": "value", name=value, Name: value
    r"""(?<![\w.-])([\w.-]++)(\\?["']\s*:\s*\\?["']|\s*=\s*\\?["']?|:\s+(?=\S{16}))
        ([^\s"'\\,;&{}\[\]()]+)""",
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_SIGNS = re.compile(r"://|[=:]|Bearer|Basic|BEGIN|[-_]\w{16}|A[KS]IA|AIza|eyJ")
"""Text that contains none of these has nothing that looks like a secret."""


class Mask:
    """A mask that hides secrets in text."""

    def __init__(self, forms: tuple[str, ...]) -> None:
        """Store `forms`, the known secrets in all encodings, the longest first."""
        self._forms = forms
        self._unescaped = tuple(form for form in forms if not has_escapes(form))

    @cached_property
    def _escaped(self) -> EscapedSecrets:
        return EscapedSecrets(self._forms)

    def hide_known(self, text: str) -> str:
        """Return the text without known secrets; the same text if it contains none."""
        forms = self._unescaped
        if has_escapes(text):
            text = self._escaped.hide(text, HIDDEN)
            forms = self._forms
        for form in forms:
            if form in text:
                text = text.replace(form, HIDDEN)
        return text

    def message(self, text: str) -> str:
        """Return the text without known secrets, and without anything that looks like a secret."""
        text = self.hide_known(text)
        return _without_shapes(text) if _SIGNS.search(text) else text

    def holds_known(self, text: str) -> bool:
        """Return True if the text contains a known secret."""
        if not has_escapes(text):
            return any(form in text for form in self._unescaped)
        return any(form in text for form in self._forms) or self._escaped.are_in(text)

    def holds_divided(self, value: object) -> bool:
        """Return True if the strings under one JSON name together contain a known secret that none contains alone."""
        texts: dict[str, list[str]] = {}
        inner = [("", value)]
        while inner:
            name, each = inner.pop()
            if isinstance(each, str):
                texts.setdefault(name, []).append(each)
            elif isinstance(each, Mapping):
                inner += reversed([(str(key), part) for key, part in each.items()])
            elif isinstance(each, list | tuple):
                inner += [(name, item) for item in reversed(each)]
        return any(self.is_divided(pieces) for pieces in texts.values() if len(pieces) > 1)

    def is_divided(self, pieces: Sequence[str]) -> bool:
        """Return True if a known secret continues from one piece of a text in the next."""
        whole = "".join(pieces)
        return self.holds_known(whole) and self.hide_known(whole) != "".join(map(self.hide_known, pieces))

    def known_in_both(self, first: str, second: str) -> tuple[str, str]:
        """Return two texts without known secrets, and without one that begins in the first and ends in the second."""
        safe = self.hide_known(first)
        if not (first and second and self.is_divided((first, second))):
            return safe, self.hide_known(second)
        pieces = self.hide_known(first + second).split(HIDDEN)
        n_before = 1 + safe.count(HIDDEN)
        return HIDDEN.join([*pieces[:n_before], ""]), HIDDEN.join(["", *pieces[n_before:]])


def current_mask() -> Mask:
    """Return the mask for the current environment. Reuse it for many texts."""
    return _build_mask(frozenset(os.environ.items()), marked_variables())


@lru_cache(4)
def _build_mask(environment: frozenset[tuple[str, str]], _marked: frozenset[str]) -> Mask:
    return Mask(secret_forms(dict(environment)))


def mask_text(text: str) -> str:
    """Return a message without secrets."""
    return current_mask().message(text)


def without_secrets(text: str) -> str:
    """Return an answer or a data value without the secrets of the environment."""
    return current_mask().hide_known(text)


def shorten_masked(text: str, n_characters: int) -> str:
    """Return a message, masked before it is cut: a secret at the cut would lose its end and pass the mask."""
    return mask_text(text)[:n_characters]


def join_masked(pieces: Sequence[str], between: str) -> str:
    """Return the pieces of a server's text, joined. A secret that continues from one in the next is hidden."""
    mask = current_mask()
    return mask.hide_known("".join(pieces)) if mask.is_divided(pieces) else between.join(pieces)


def shortened_value(value: object, n_characters: int) -> str:
    """Return the beginning of a value for a message, masked before it is cut, `***` if it has a secret in pieces."""
    return HIDDEN if current_mask().holds_divided(value) else shorten_masked(repr(value), n_characters)


def masked_values(value: Json, mask: Mask | None = None) -> Json:
    """Return a JSON value with every string masked as a message, including the names."""
    mask = mask or current_mask()
    if isinstance(value, str):
        return mask.message(value)
    if isinstance(value, Mapping):
        return {masked_values(name, mask): _field(str(name), each, mask) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked_values(each, mask) for each in value]
    return value


def _field(name: str, value: Json, mask: Mask) -> Json:
    is_secret = isinstance(value, str) and field_names_secret(name, value) and may_be_secret(value)
    return HIDDEN if is_secret else masked_values(value, mask)


def _without_shapes(text: str) -> str:
    if "://" in text:
        text = USERINFO.sub(f"{HIDDEN}@", text)
        text = _PARAMETER.sub(_hidden_parameter, text)
    if "Bearer" in text:
        text = _BEARER.sub(f"Bearer {HIDDEN}", text)
    if "Basic" in text:
        text = _BASIC.sub(_hidden_pair, text)
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(HIDDEN, text)
    text = KEY_SHAPE.sub(_hidden_key, text)
    return _FIELD.sub(_hidden_field, text)


def _hidden_parameter(match: re.Match[str]) -> str:
    return f"{match[1]}={HIDDEN}" if names_secret(match[1]) else match[0]


def _hidden_pair(match: re.Match[str]) -> str:
    """Hide the text only if it is base64 of a pair: "Basic understanding" is not a header."""
    try:
        is_pair = b":" in b64decode(match[1] + "=" * (-len(match[1]) % 4), altchars=b"-_" if "-" in match[1] else None)
    except (NoBase64, ValueError):
        is_pair = False
    return f"Basic {HIDDEN}" if is_pair else match[0]


def _hidden_key(match: re.Match[str]) -> str:
    return match[0] if match[0] == HIDDEN or not may_be_secret(match[0]) else HIDDEN


def _hidden_field(match: re.Match[str]) -> str:
    name, between, value = match.groups()
    last = name.rpartition(".")[2]
    is_misplaced = last.lower().endswith("_env") and not is_variable_name(value)  # a key in place of a name
    is_written_out = may_be_secret(value) and not value.startswith(("$", "`"))
    is_named = field_names_secret(last, value) and (last == name or names_secret(name))
    is_secret = is_written_out and (is_misplaced or is_named)
    return f"{name}{between}{HIDDEN}" if is_secret else match[0]
