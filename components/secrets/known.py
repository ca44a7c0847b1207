"""The secrets in the environment of this process: values of variables with telling names, and parts of addresses."""

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from components.secrets.escapes import EscapedSecrets
from components.secrets.forms import forms_of
from components.secrets.names import (
    KEY_SHAPE,
    NAMES_HEADERS,
    NAMES_PAIRS,
    is_doubtful,
    looks_random,
    may_be_secret,
    names_secret,
)

_ADDRESS = re.compile(r"[a-zA-Z][\w+.-]*://\S+")
_LINE_ENDS = re.compile(r"\\[rn]|[\s\"]+")
_LINE_OF_KEY = re.compile(r"[\w+/-]{32,}={0,2}", re.ASCII)
_PATH = re.compile(
    r"""(?:~|\.{1,2}|[A-Za-z]:)(?:[/\\][\w\ .@+-]+)+[/\\]?     # ~/keys, C:\keys
      | (?:/[\w\ .@+-]+){2,}/?                                # /run/keys
      | [\w.-]+(?:/[\w.-]+)+\.[A-Za-z]{1,5}\d?                # keys/main.pem""",
    re.VERBOSE,
)
_SETTINGS = {
    ";": re.compile(r"""(?:^|;)\s*+([A-Za-z][\w .-]{0,63}?)\s*+=\s*+("[^"]*"|'[^']*'|\{[^}]*\}|[^;]*)"""),
    " ": re.compile(r"""(?:^|\s)(\w+)\s*+=\s*+('(?:[^'\\]|\\.)*'|\S*)"""),
    ",": re.compile(r"""(?:^|,)\s*+(\w+)\s*+=([^,]*)"""),
}
"""Settings of a connection by the sign between them: in .NET and ODBC, in PostgreSQL, and in Redis."""

_QUOTE_SIGNS = "'\"`"
_QUOTES = ("''", '""', "{}")
_USER_OF_PROTOCOL = re.compile(r"[^:/@\s]+:(.+)@\w*\(")  # USER:PASSWORD@tcp(HOST)/DATABASE
_HEADER = re.compile(r"[^=,]+=([^,]*)")
_SCHEME = re.compile(r"(?:Basic|Bearer|Token|ApiKey)[ +]+", re.IGNORECASE)
_MIN_PAIR = 8

_marked: set[str] = set()
"""Variables that a configuration names as holding a key, regardless of their names."""


def mark_variable(name: str) -> None:
    """Treat the value of this environment variable as a secret from now on."""
    _marked.add(name)


def mark_variables_of(component: object) -> None:
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
    found: set[str] = set()
    for name, value in environment.items():
        for secret in _secrets_in(name, value):
            found |= forms_of(secret)
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def variable_of(text: str) -> str:
    """Return the name of the variable whose secret is in a text, "" for none."""
    for name, value in os.environ.items():
        forms = [form for secret in _secrets_in(name, value) for form in forms_of(secret)]
        if any(form in text for form in forms) or EscapedSecrets(forms).are_in(text):
            return name
    return ""


def _secrets_in(name: str, value: str) -> Iterator[str]:
    value = value.strip()
    is_named = name in _marked or (looks_random(value) if is_doubtful(name) else names_secret(name))
    if is_named:
        yield from _secrets_in_named(value)
    if is_named or "PRIVATE KEY-----" in value:
        yield from _lines_of_key(value)
    yield from (key[0] for key in KEY_SHAPE.finditer(value) if may_be_secret(key[0]) and re.search(r"\d", key[0]))
    yield from _secrets_in_settings(name.upper(), value)
    if "://" in value:
        for address in _ADDRESS.findall(value):
            yield from _secrets_in_address(address)


def _secrets_in_named(value: str) -> Iterator[str]:
    """Yield the value of a variable with a telling name, its password after a user, and both without quotes around."""
    if "://" in value or _is_path(value) or not may_be_secret(value):
        return
    password = value.partition(":")[2]
    for each in (value, value.strip(_QUOTE_SIGNS), password, password.strip(_QUOTE_SIGNS)):
        if may_be_secret(each):
            yield each


def _secrets_in_settings(name: str, value: str) -> Iterator[str]:
    """Yield passwords and keys among the settings of a connection, and the values of headers."""
    found: list[str] = []
    if NAMES_PAIRS.search(name) or ("=" in value and ";" in value):
        signs = ";" if ";" in value else " ,"
        pairs = [pair for sign in signs for pair in _SETTINGS[sign].findall(value)]
        found += [given for key, given in pairs if names_secret(key) or key.upper() == "PWD"]
    if NAMES_PAIRS.search(name):
        found += _USER_OF_PROTOCOL.findall(value)
    if NAMES_HEADERS.search(name):
        headers = [given for header in _HEADER.findall(value) for given in (header, unquote(header).strip())]
        found += [part for header in headers for part in (header, _SCHEME.sub("", header, count=1))]
    for each in dict.fromkeys(map(_unquoted, found)):
        if may_be_secret(each):
            yield each


def _unquoted(value: str) -> str:
    bare = value.strip()
    return re.sub(r"\\(.)", r"\1", bare[1:-1]) if len(bare) > 1 and bare[0] + bare[-1] in _QUOTES else bare


def _lines_of_key(value: str) -> list[str]:
    """Return the lines of a multi-line key, which other programs indent, wrap, join, or escape in JSON."""
    lines = _LINE_ENDS.split(value)
    return [line for line in lines if _LINE_OF_KEY.fullmatch(line)] if len(lines) > 1 else []


def _secrets_in_address(address: str) -> Iterator[str]:
    """Yield the password, which may hold any character unescaped, and its pair with the user, base64 in headers."""
    for userinfo in _userinfos(address.partition("://")[2]):
        user, colon, password = userinfo.partition(":")
        secret = password if colon else user
        for each in dict.fromkeys((secret, unquote(secret))):
            if may_be_secret(each):
                yield each
        if colon:
            yield from _pairs(user, password)
    for name, value in _parameters(address):
        if names_secret(name) and may_be_secret(value):
            yield value


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


def _is_path(value: str) -> bool:
    """Return True for the path of a file, which may contain a key but is not one: words between slashes, or a file."""
    if _PATH.fullmatch(value) and not looks_random(value):
        return True
    try:
        return value.startswith(("/", "~", ".")) and Path(value).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # it is not a path: too long, an unknown user, or a null byte
        return False
