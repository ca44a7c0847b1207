"""Secrets in what becomes the script of a job, which is kept with the logs, and is a part of the sweep's configuration.

A line may fetch one where it runs, `HF_TOKEN=$(cat ~/.hf)` or `$MY_TOKEN`. What is written out is told by the name to
which it is given, by the form that keys of well-known providers have, or by its place in an address or a header. This
finds what somebody typed without a thought; it is no wall against who hides one.
"""

import re

_SAYS_SO = re.compile(
    r"""(KEYS?|TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(_|$)   # AWS_ACCESS_KEY_ID, PGPASSWORD
      | (^|_)(PASS|PW|PAT)$ | _PWD$ | (^|_)(AUTH|AUTHORIZATION|COOKIE|SAS)$""",
    re.VERBOSE,
)
"""In a name, in capitals and with underscores."""

_SAYS_WHERE = re.compile(r"_(FILE|PATH|DIR|ENV|NAME)$|^GOOGLE_APPLICATION_CREDENTIALS$")
"""The value of such a name is not itself the secret."""

_GIVEN = re.compile(
    r"""(?:  (?P<set>[A-Za-z_]\w*)["']?\s*\+?=                                  # export NAME=value
          |  --(?P<option>[A-Za-z][\w-]*)(?:=|\s+)                             # --name value
          |  \b(?:setenv|printf\s+-v|set\s+-\w+)\s+(?P<told>\w+)\s+             # setenv NAME value
          |  \bread\s+(?:-\w+\s+)*(?P<read>\w+)\s*<<<\s*)                       # read NAME <<< value
        (?P<value>\$?"[^"]*"|\$?'[^']*'|[^\s;&|,]+)""",
    re.VERBOSE,
)

_FETCHED = re.compile(r"\$\w+|\$\{\w+\}|\$\((?!\s*(?:echo|printf)\b).*|`(?!\s*(?:echo|printf)\b).*|--?[a-z].*")
"""Read from elsewhere where the line runs; or the next option."""

_PLAIN = re.compile(r"\d{1,6}|true|false|yes|no|on|off|none|", re.IGNORECASE)
"""No secret: `MAX_TOKENS=512`."""

_KEY = re.compile(
    r"""\b(?: (?:sk|pk|rk|glpat|nvapi|pplx|xai|xox[abeprs])-[\w-]{16,} | (?:hf|gsk|r8|gh[pousr]|github_pat)_\w{16,}
            | A[KS]IA[0-9A-Z]{16} | AIza[\w-]{30,}
            | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]* )
      | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY""",
    re.VERBOSE,
)
"""As providers of models, of code and of clouds give them out; a signed token; a private key."""

_IN_ADDRESS = re.compile(r"://[^/\s:@]*:(?!\$)[^/\s@]+@")
_IN_HEADER = re.compile(r"""\b(?:Bearer|Basic|(?:X-)?API-?Key:)\s+(?!["'$])[^\s"']+""", re.IGNORECASE)


def secret_in(text: str) -> str:
    """How a text holds a secret, in words that do not repeat it; "" if it seems to hold none."""
    for given in _GIVEN.finditer(text):
        name = given["set"] or given["option"] or given["told"] or given["read"]
        if _is_of_secrets(name) and _is_written_out(given["value"]):
            return f"sets {name}"
    if _KEY.search(text):
        return "holds what looks like a key"
    if _IN_ADDRESS.search(text):
        return "holds an address with a password"
    return "holds what a server is shown as a secret" if _IN_HEADER.search(text) else ""


def _is_of_secrets(name: str) -> bool:
    plain = name.upper().replace("-", "_")
    return bool(_SAYS_SO.search(plain)) and not _SAYS_WHERE.search(plain)


def _is_written_out(value: str) -> bool:
    is_verbatim = value.startswith(("'", "$'"))
    bare = value.removeprefix("$") if value.startswith(("$'", '$"')) else value
    bare = bare.strip("'\"")
    return not _PLAIN.fullmatch(bare) and (is_verbatim or not _FETCHED.fullmatch(bare))
