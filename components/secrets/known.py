"""Secrets in the environment of this process: values of variables with secret-like names, and parts of addresses."""

import json
import os
import re
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from components.secrets.escapes import EscapedSecrets
from components.secrets.names import (
    KEY_SHAPE,
    NAMES_HEADERS,
    NAMES_PAIRS,
    NAMES_PROXY,
    NAMES_SECRET_HEADERS,
    is_doubtful,
    looks_random,
    may_be_secret,
    may_consist_of_words,
    names_secret,
)
from components.secrets.secret_encodings import encoded_forms

_ADDRESS = re.compile(r"[a-zA-Z][\w+.-]{0,30}://\S+")
_ADDRESS_WITH_SPACE = re.compile(r"[a-zA-Z][\w+.-]{0,30}://[^\s/?#]*\s.*@\S*")
_NEXT_ADDRESS = re.compile(r"""[,;|"'\[\]](?=(?:[\w.-]{1,30}=)?[a-zA-Z][\w+.-]{0,30}://)""")
_LINE_ENDS = re.compile(r"\\[rn]|[\s\"]+")
_LINE_OF_KEY = re.compile(r"[\w+/-]{32,}={0,2}", re.ASCII)
_PATH = re.compile(
    r"""(?:~|\.{1,2}|[A-Za-z]:|\$\w+|%\w+%)(?:[/\\][\w\ .@+-]+)+[/\\]?     # ~/keys, C:\keys
      | (?:/[\w\ .@+-]+){2,}/?                                # /run/keys
      | [\w.-]+(?:/[\w.-]+)+\.[A-Za-z]{1,5}\d?                # keys/main.pem""",
    re.VERBOSE,
)
_SETTINGS = {
    ";": re.compile(r"""(?:^|;)\s*+([A-Za-z][\w .-]{0,63}?)\s*+=\s*+("[^"]*"|'[^']*'|\{(?:[^}]|\}\})*+\}|[^;]*)"""),
    " ": re.compile(r"""(?:^|\s)(\w+)\s*+=\s*+('(?:[^'\\]|\\.)*'|\S*)"""),
    ",": re.compile(r"""(?:^|,)\s*+(\w+)\s*+=([^,]*)"""),
}
"""Settings of a connection by the sign between them: in .NET and ODBC, in PostgreSQL, and in Redis."""

_QUOTE_SIGNS = "'\"`"
_QUOTES = ("''", '""', "{}")
_USER_OF_PROTOCOL = re.compile(r"[^:/@\s]+:(.+)@\w*\(")  # USER:PASSWORD@tcp(HOST)/DATABASE
_QUOTED = re.compile(
    r"""(?<![\w.-])([A-Za-z][\w.-]*)=("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')"""
)  # password="..." in JAAS
_QUERY = re.compile(r"\??[\w.-]+=[^&\s]*(?:&[\w.-]+=[^&\s]*)+")
_HEADER = re.compile(r"([^=:,\n]+)[=:]([^,\n]*)")
_SCHEME = re.compile(r"(?:authorization:[ ]*)?(Basic|Bearer|Token|ApiKey)[ +]+", re.IGNORECASE)
_BETWEEN_KEYS = re.compile(r"[\s,;|]+")
_AROUND_KEYS = "'\"`[]{}()"
_WEBHOOK = re.compile(r"://(?:hooks?\.|[^/]*webhook)|/webhooks?/", re.IGNORECASE)
_MIN_PART_OF_WEBHOOK = 16
_MIN_PAIR = 8

_marked: set[str] = set()
"""Variables that a configuration names as holding a key, regardless of their names."""


def mark_variable(name: str) -> None:
    """Treat the value of this environment variable as a secret from now on."""
    _marked.add(name)


def mark_variables(component: object) -> None:
    """Treat the variables that fields such as `api_key_env` of a component name as secrets from now on.

    A worker that was not forked does not know what the command has marked.
    """
    for name, value in vars(component).items() if hasattr(component, "__dict__") else ():
        if name.endswith("_env") and isinstance(value, str):
            mark_variable(value)


def marked_variables() -> frozenset[str]:
    """Return the variables that were marked so far."""
    return frozenset(_marked)


def secret_forms(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return all encodings of all secrets in an environment, the longest first."""
    forms: set[str] = set()
    for name, value in environment.items():
        for secret in _find_secrets(name, value):
            forms |= encoded_forms(secret)
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def find_variable(text: str) -> str:
    """Return the name of the variable whose secret is in a text, "" for none."""
    return next(find_variables(text), "")


def find_variables(text: str) -> Iterator[str]:
    """Yield the names of the variables whose secrets are in a text."""
    for name, value in os.environ.items():
        forms, escaped = _forms_and_escaped(name, value, name in _marked)
        if any(form in text for form in forms) or (forms and escaped.are_in(text)):
            yield name


@lru_cache(1024)
def _forms_and_escaped(name: str, value: str, _is_marked: bool) -> tuple[list[str], EscapedSecrets]:
    forms = [form for secret in _find_secrets(name, value) for form in encoded_forms(secret)]
    return forms, EscapedSecrets(forms)


def _find_secrets(name: str, value: str) -> Iterator[str]:
    value = value.strip()
    is_marked = name in _marked
    is_named = is_marked or (looks_random(value) if is_doubtful(name) else names_secret(name))
    if is_marked or (is_named and not _is_ordinary(name, value)):
        yield from _secrets_in_named(value)
    if is_named or "PRIVATE KEY-----" in value:
        yield from _key_lines(value)
    yield from (key[0] for key in KEY_SHAPE.finditer(value) if may_be_secret(key[0]) and re.search(r"\d", key[0]))
    yield from _secrets_in_settings(name.upper(), value)
    if value.startswith(("{", "[")):
        yield from _secrets_in_json(name, value)
    if "://" in value:
        for address in _addresses(value):
            yield from _secrets_in_address(address)
    elif NAMES_PROXY.search(name.upper()):
        yield from _secrets_in_address(f"http://{value}")


def _is_ordinary(name: str, value: str) -> bool:
    """Return True for a path, for a folder on the way to the working directory, which CI systems name by a short token,
    and for words in a variable whose name suggests a key or a token.
    """
    has_words = " " in value or value.lower() == value.upper()  # Chinese has no spaces between words
    is_words = has_words and value.replace(" ", "").isalpha() and not looks_random(value)
    return _is_path(value) or value in _working_folders() or (is_words and not may_consist_of_words(name))


def _secrets_in_named(value: str) -> Iterator[str]:
    """Yield the value of a variable with a secret-like name, and its parts, without surrounding quotes.

    The parts are the password after a user, what follows `Bearer` and `Basic`, and each of several random keys.
    """
    if "://" in value or not may_be_secret(value):
        return
    bare = value.strip(_QUOTE_SIGNS)
    password = value.partition(":")[2]
    secrets = [value, bare, password, password.strip(_QUOTE_SIGNS)]
    secrets += _credentials(bare)
    if len(keys := _BETWEEN_KEYS.split(value)) > 1:
        parts = [part.strip(_AROUND_KEYS) for key in keys for part in (key, re.split("[:=]", key, maxsplit=1)[-1])]
        secrets += filter(looks_random, parts)
    yield from filter(may_be_secret, dict.fromkeys(secrets))


def _credentials(header: str) -> Iterator[str]:
    """Yield the text after a scheme at the beginning of a header, and for "Basic" the user and the password in it."""
    scheme = _SCHEME.match(header)
    if scheme is None:
        return
    given = header[scheme.end() :]
    yield given
    if scheme[1].lower() == "basic" and (pair := _decode_pair(given)):
        yield pair
        yield pair.partition(":")[2]


def _decode_pair(given: str) -> str:
    """Return the pair USER:PASSWORD in base64, "" if the text is something else."""
    try:
        pair = b64decode(
            given + "=" * (-len(given) % 4), altchars=b"-_" if {"-", "_"} & {*given} else None, validate=True
        ).decode()
    except (NoBase64, ValueError):
        return ""
    return pair if ":" in pair and pair.isprintable() else ""


def _secrets_in_settings(name: str, value: str) -> Iterator[str]:
    """Yield passwords and keys among the settings of a connection or the parameters of a query, and in headers."""
    secrets: list[str] = []
    if NAMES_PAIRS.search(name) or ("=" in value and ";" in value):
        signs = ";" if ";" in value else " ,"
        pairs = [pair for sign in signs for pair in _SETTINGS[sign].findall(value)]
        secrets += [given for key, given in pairs if names_secret(key) or key.upper() == "PWD"]
    if '="' in value or "='" in value:
        secrets += [given for key, given in _QUOTED.findall(value) if names_secret(key)]
    if NAMES_PAIRS.search(name):
        secrets += _USER_OF_PROTOCOL.findall(value)
    if _QUERY.fullmatch(value):
        pairs = [pair.partition("=")[::2] for pair in value.removeprefix("?").split("&")]
        secrets += [
            part
            for key, given in pairs
            if names_secret(key)
            for part in (given, unquote(given), unquote(given).rstrip("="))
        ]
    if NAMES_HEADERS.search(name):
        secrets += _secrets_in_headers(value, all_count=bool(NAMES_SECRET_HEADERS.search(name)))
    for each in dict.fromkeys(map(_unquote, secrets)):
        if may_be_secret(each):
            yield each


def _secrets_in_headers(value: str, *, all_count: bool) -> Iterator[str]:
    for header, given in _HEADER.findall(value):
        if not all_count and not names_secret(header.strip(_AROUND_KEYS + " ")):
            continue
        for each in dict.fromkeys((given.strip(), unquote(given).strip())):
            yield each
            yield from _credentials(each)


def _secrets_in_json(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in the fields of JSON. Texts in a list have the name of the list.

    In a variable with a secret-like name, every value that looks random counts.
    """
    all_count = names_secret(name)
    try:
        inner = [(name, json.loads(value))]
    except (ValueError, RecursionError):
        return
    while inner:
        name, each = inner.pop()
        if isinstance(each, dict):
            inner += each.items()
        elif isinstance(each, list):
            inner += [(name, item) for item in each]
        elif isinstance(each, str) and each != value:
            yield from _find_secrets(name, each)
            if all_count and looks_random(each):
                yield each
            if names_secret(name) and (pair := _decode_pair(each)):  # "auth" in the settings of Docker
                yield from filter(may_be_secret, (pair, pair.partition(":")[2]))


def _unquote(value: str) -> str:
    bare = value.strip()
    if len(bare) < 2 or bare[0] + bare[-1] not in _QUOTES:
        return bare
    return bare[1:-1].replace("}}", "}") if bare[0] == "{" else re.sub(r"\\(.)", r"\1", bare[1:-1])


def _key_lines(value: str) -> list[str]:
    """Return the lines of a multi-line key, which other programs indent, wrap, join, or escape in JSON."""
    lines = _LINE_ENDS.split(value)
    return [line for line in lines if _LINE_OF_KEY.fullmatch(line)] if len(lines) > 1 else []


def _addresses(value: str) -> Iterator[str]:
    """Yield the addresses in a text, which may list several without spaces.

    A password may contain a comma, or a space if the text is a single address.
    """
    if _ADDRESS_WITH_SPACE.fullmatch(value.strip()) and value.count("://") == 1:
        yield value.strip()
    for address in _ADDRESS.findall(value):
        yield from dict.fromkeys((address, *(part.strip(",;|\"'[]") for part in _NEXT_ADDRESS.split(address))))


def _secrets_in_address(address: str) -> Iterator[str]:
    """Yield the password, which may hold any character unescaped, and its pair with the user, base64 in headers."""
    rest = address.partition("://")[2]
    for userinfo in _userinfos(rest):
        user, colon, password = userinfo.partition(":")
        secret = password or (user if looks_random(user) else "")  # a token, but not the name of a user or a company
        yield from filter(may_be_secret, dict.fromkeys((secret, unquote(secret), *secret.split("@"))))
        if colon:
            yield from _pairs(user, password)
    yield from filter(may_be_secret, _parts_of_password(rest))
    for name, value in _parameters(address):
        if names_secret(name) and may_be_secret(value):
            yield value
    if _WEBHOOK.search(address):
        parts = re.split(r"[/?#]", rest)[1:]
        yield from (part for part in parts if len(part) >= _MIN_PART_OF_WEBHOOK and looks_random(part))


def _parts_of_password(rest: str) -> list[str]:
    """Return the parts of a password with unescaped characters.

    A library that ends the password at such a sign takes the rest for the host or the port, and quotes it. The host
    after an @ is not a secret: in a list of addresses, and with a slash in the password, only the text before the first
    @ counts.
    """
    authority = rest.partition("/")[0]
    userinfo = authority.rpartition("@")[0]
    is_list = any(":" in each for each in re.split("[,;]", userinfo)[1:])
    if not userinfo or is_list:
        userinfo = rest.partition("@")[0] if "@" in rest else ""
    password = userinfo.partition(":")[2]
    is_port = re.match(r"\d+(?:[/?#,;]|\Z)", password)  # of an address without a password, but with an @ in its path
    return [] if is_port else re.split(r"[@:/?#,;\\\s]", password)


def _userinfos(rest: str) -> set[str]:
    """Return possible values of user and password in an address without its scheme.

    They end before the @ of the host, or before a later @ if the password seems to contain a slash.
    """
    authority = rest.partition("/")[0]
    return {authority.rpartition("@")[0], rest.rpartition("@")[0] if ":" in authority else ""} - {""}


def _pairs(user: str, password: str) -> Iterator[str]:
    for pair in dict.fromkeys((f"{user}:{password}", f"{unquote(user)}:{unquote(password)}")):
        if len(pair) >= _MIN_PAIR:
            yield pair
        yield b64encode(pair.encode("utf-8", "replace")).decode("ascii")


def _parameters(address: str) -> list[tuple[str, str]]:
    try:
        parts = urlsplit(address)
    except ValueError:  # an unclosed bracket
        return []
    return parse_qsl(f"{parts.query}&{parts.fragment}", keep_blank_values=True)


def _working_folders() -> tuple[str, ...]:
    try:
        return Path.cwd().parts
    except OSError:  # the working directory was deleted
        return ()


def _is_path(value: str) -> bool:
    """Return True for the path of a file, which may contain a key but is not one: words between slashes, or a file."""
    if _PATH.fullmatch(value) and not looks_random(value):
        return True
    try:
        return ("/" in value or value.startswith(("~", "."))) and Path(value).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # the text is not a path: too long, an unknown user, or a null byte
        return False
