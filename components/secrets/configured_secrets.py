"""Secrets written into a configuration, a command or a job script, where they would be stored.

A line may fetch a secret when it runs, as in `HF_TOKEN=$(cat ~/.hf)` or `$MY_TOKEN`. We recognize a literal secret by
the name it is assigned to, by the key format of a well-known provider, or by its place in an address or a header. This
catches carelessness. It does not stop anyone who hides a secret on purpose.
"""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_plus

from components.json_value import Json
from components.secrets.known import find_variable
from components.secrets.mask import Mask, current_mask
from components.secrets.names import (
    KEY_SHAPE,
    PLAIN,
    USERINFO,
    field_names_secret,
    gives_access,
    is_variable_name,
    may_be_secret,
    names_secret,
)

_INSTEAD = "Name the environment variable that holds it, as api_key_env=MY_KEY does."
_INSTEAD_OF = {
    "uri": "Set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead.",
    "store_dir": "Set the environment variables of the service instead (for s3: AWS_ACCESS_KEY_ID, "
    "AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL).",
    "documents": "Use a folder on this machine.",
}
"""Advice by the name of a field."""

_GIVEN = re.compile(
    r"""(?:  (?P<set>[A-Za-z_]\w*)["']?\s*\+?=                                  # export NAME=value
          |  --(?P<option>[A-Za-z][\w-]*)(?:=|\s+)                             # --name value
          |  \b(?:setenv|printf\s+-v|set\s+-\w+)\s+(?P<told>\w+)\s+             # setenv NAME value
          |  \bread\s+(?:-\w+\s+)*(?P<read>\w+)\s*<<<\s*)                       # read NAME <<< value
        (?P<value>\$?"[^"]*"|\$?'[^']*'|[^\s;&|,]+)""",
    re.VERBOSE,
)

_FETCHED = re.compile(r"\$\w+|\$\{\w+\}|\$\((?!\s*(?:echo|printf)\b).*|`(?!\s*(?:echo|printf)\b).*|--?[a-z].*")
"""Values that are read when the line runs, or the next option."""

_FETCHES = re.compile(r"[$`]")
"""Substitutions in a line of a script, which `describe_secret` examines more closely."""

_IN_ADDRESS = re.compile(r"://[^/\s:@]*:(?!\$)[^/\s@]+@")
_PASSWORD_SETTING = re.compile(r"[?&;]\s*(?:pwd|password)\s*=\s*(?!\$\{)[^\s;&]", re.IGNORECASE)
_IN_HEADER = re.compile(r"""\b(?:Bearer|Basic|(?:X-)?API-?Key:)\s+(?!["'$])[^\s"']+""", re.IGNORECASE)


def describe_secret(text: str) -> str:
    """Describe the secret in a line of a script without repeating it; "" if it seems to contain none."""
    for given in _GIVEN.finditer(text):
        name = given["set"] or given["option"] or given["told"] or given["read"]
        if names_secret(name) and _is_written_out(given["value"]):
            return f"sets {name}"
    if KEY_SHAPE.search(text):
        return "contains text that looks like a key"
    if _IN_ADDRESS.search(text):
        return "contains an address with a password"
    return "contains a header with a secret" if _IN_HEADER.search(text) else ""


def misplaced_secrets(config: Json, mask: Mask | None = None, path: str = "") -> Iterator[str]:
    """Yield one error per secret in a configuration, without repeating it.

    A secret is the value of a field whose name indicates one, anything that `mask_text` would hide, or a key in place
    of the name of an environment variable. Strings with JSON are searched too.
    """
    mask = mask or current_mask()
    if isinstance(config, Mapping):
        for name, value in config.items():
            if mask.message(str(name)) != name:
                yield f"{path or 'a field'}: the name of a field contains a secret. {_INSTEAD}"
            else:
                means = path.rpartition(".")[2] if name == "value" else str(name)  # `password: {value: ...}`
                yield from _misplaced_in_field(means, value, mask, f"{path}.{name}" if path else str(name))
    elif isinstance(config, list | tuple):
        list_name = path.rpartition(".")[2]
        for number, value in enumerate(config):
            name = list_name if may_be_secret(str(value)) else ""  # `metadata_keys: [title]` is not a secret
            yield from _misplaced_in_field(name, value, mask, f"{path}.{number}")


def _misplaced_in_field(name: str, value: Json, mask: Mask, path: str) -> Iterator[str]:
    """Yield the errors within a string of JSON, whose paths are more precise, or else the error of the value."""
    within = list(misplaced_secrets(_open_json(value), mask, path))
    yield from within
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)  # YAML reads digits as a number
    if not within and is_text and (problem := _problem(name, str(value), mask)):
        yield f"{path}: {problem}"


def named_variables(config: Json) -> Iterator[str]:
    """Yield the environment variables that fields such as `api_key_env` name, at any depth.

    The value of an axis names several, as in `A_KEY,B_KEY`.
    """
    if isinstance(config, Mapping):
        for name, value in config.items():
            if isinstance(value, str):
                yield from re.findall(r"\w+", value) if str(name).endswith("_env") else ()
            else:
                yield from named_variables(value)
    elif isinstance(config, list | tuple):
        for value in config:
            yield from named_variables(value)


def misplaced_in_override(override: str, mask: Mask | None = None) -> str:
    """Return the error for an override with a secret, without repeating it; "" for none."""
    key, _, value = override.partition("=")
    key = key.lstrip("+~")
    bare = value.strip("'\"")
    mask = mask or current_mask()
    if mask.message(key) != key:
        return f"an override contains a secret. {_INSTEAD}"
    name = key.rpartition(".")[2]
    return next(_misplaced_in_field(name, bare, mask, key), "")


def misplaced_in_value(name: str, value: str) -> str:
    """Return the error for a secret in the value of a field, without repeating it and without the name; "" for none."""
    return _problem(name, value, current_mask())


def _problem(name: str, value: str, mask: Mask) -> str:
    """Return the error for a string in a field, "" for none."""
    if mask.holds_known(value) and not USERINFO.search(value):
        return (
            f"contains the secret of the environment variable {find_variable(value)}. {_INSTEAD} If it is not a "
            "secret, unset or rename the variable."
        )
    if name.lower().endswith("_env") and value and not is_variable_name(value) and may_be_secret(value):
        return "contains text that looks like a key, expected the name of the environment variable that holds the key"
    if (field_names_secret(name, value) or gives_access(name, value)) and _is_written_out(value):
        return f"must not contain a secret, because the configuration is stored with the results. {_INSTEAD}"
    is_shaped = (not _FETCHES.search(value) and mask.message(value) != value) or mask.holds_known(value)
    if is_shaped or _names_option(value) or _holds_password_setting(value):
        instead = _INSTEAD_OF.get(name, _INSTEAD)
        return f"contains a user name or password, a key or a token, and is stored with the results. {instead}"
    return ""


def _names_option(value: str) -> bool:
    """Return True for the arguments of a command with a literal secret, as in `--api-key abc`."""
    given = _GIVEN.finditer(value) if "--" in value else ()
    return any(names_secret(each["option"] or "") and _is_written_out(each["value"]) for each in given)


def _holds_password_setting(value: str) -> bool:
    """Return True for an address with the settings of an ODBC connection, plain or percent-encoded, and a password."""
    return "://" in value and any(map(_PASSWORD_SETTING.search, (value, unquote_plus(value))))


def _open_json(value: Json) -> Json:
    """Return the JSON in a string, if it is an object or a list, else the value."""
    if not (isinstance(value, str) and value.lstrip().startswith(("{", "["))):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _is_written_out(value: str) -> bool:
    is_verbatim = value.startswith(("'", "$'"))
    bare = value.removeprefix("$") if value.startswith(("$'", '$"')) else value
    bare = bare.strip("'\"")
    return not PLAIN.fullmatch(bare) and (is_verbatim or not _FETCHED.fullmatch(bare))
