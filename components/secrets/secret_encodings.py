"""The encodings in which a secret may appear in text: in an address, in JSON, in Python's notation, in a header."""

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote

_MIN_LENGTH = 8
_BASE64_GROUP = 3
_PERCENT = re.compile("%[0-9A-F]{2}")
_DELIMITERS = "!$&'()*+,;="
"""Characters that some clients leave unencoded in the password, the query or the path of an address."""


def encoded_forms(secret: str) -> frozenset[str]:
    """Return the secret in all its encodings, including the plain one; none for "" and very short secrets.

    The base64 forms match any text that contains the secret. They omit the characters that encode its neighbours too.
    """
    plain = {secret, unquote(secret), " ".join(secret.split())}
    forms = {form for each in plain for form in _list_escaped(each)}
    forms |= {form for each in plain for form in _in_bytes(each)}
    return frozenset(form for form in forms if len(form) >= _MIN_LENGTH)


def _list_escaped(text: str) -> Iterator[str]:
    yield text
    unescaped = ("", "/", _DELIMITERS, _DELIMITERS + "/:@?")
    for percent in (*(quote(text, safe=each) for each in unescaped), quote_plus(text)):
        yield percent
        yield quote(percent, safe="")
        yield _PERCENT.sub(lambda found: found[0].lower(), percent)
    for in_json in (_json(text, ascii_only=True), _json(text, ascii_only=False)):
        yield in_json
        yield in_json.replace("/", "\\/")
        yield in_json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")  # Go writes JSON so
        yield html.escape(in_json)
        yield _json(in_json, ascii_only=True)
    yield repr(text)[1:-1]
    yield repr(text + "'" + '"')[1:-4]  # Python uses single quotes when the surrounding text contains quotes
    yield repr(repr(text))[2:-2]  # repr of an exception quoted in another exception's message
    yield ascii(text)[1:-1]
    yield html.escape(text)
    yield html.escape(text, quote=False)
    tags = html.escape(text, quote=False)
    yield tags.replace("'", "&#39;").replace('"', "&#34;")
    yield tags.replace("'", "&apos;").replace('"', "&quot;")
    yield text.replace("'", "''")
    yield text.replace('"', '""')
    yield text.replace("'", "'\"'\"'")


def _in_bytes(text: str) -> Iterator[str]:
    for encoding in ("utf-8", "latin-1"):
        try:
            raw = text.encode(encoding)
        except UnicodeEncodeError:
            continue
        yield raw.hex()
        yield raw.hex().upper()
        yield repr(raw)[2:-1]
        for offset in range(_BASE64_GROUP):
            yield from _in_base64(raw, offset)


def _in_base64(raw: bytes, offset: int) -> Iterator[str]:
    """Yield the characters that depend on `raw` alone, if it follows `offset` bytes of a base64 group."""
    n_shared = 0 if offset == 0 else offset + 1
    n_whole = (offset + len(raw)) * 8 // 6
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(b"\0" * offset + raw).decode("ascii")[n_shared:n_whole]


def _json(text: str, *, ascii_only: bool) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]
