"""Names that indicate a secret, values that may be one, and the key formats of well-known providers."""

import re
from functools import lru_cache

_INDICATES_SECRET = re.compile(
    r"""(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSCODE|PASSPHRASE|CREDENTIAL|CRED)S?[0-9]*(_|$)   # AWS_ACCESS_KEY_ID, KEY2
      | SECRETID$
      | (^|_)(PASS|PW|PSW|PAT|PSK)[0-9]*$ | PSWD[0-9]*$ | BASIC_?AUTH$
      | [A-Z0-9]PASS[0-9]*$ | _PWD[0-9]*$ | [A-Z0-9](?<!^OLD)PWD[0-9]*$                   # DBPASS, USERPWD, but not PWD
      | _(PASS|PWD|PSWD|PW)_([0-9]+|PROD|PRODUCTION|STAGING|DEV|TEST|QA|UAT|LIVE|LOCAL|MAIN|MASTER|PRIMARY|REPLICA|SLAVE
        |RO|RW)$                                                                         # DB_PASS_PROD
      | (^|_)JWT_V?[0-9]+$                                                               # SERVICE_JWT_V2
      | (^|_)(SA|SERVICE_ACCOUNT)_JSON$
      | (^|_)(AUTH|AUTHORIZATION|BEARER|JWT|COOKIE|SESSIONID|SAS|SIG|SIGNATURE)(_HEADER)?$""",
    re.VERBOSE,
)
"""Matched against names in capitals with underscores."""

_INDICATES_PLACE = re.compile(r"_(FILE|PATH|DIR|ENV|NAME)$|^GOOGLE_APPLICATION_CREDENTIALS$")
"""The value of such a name is not itself the secret."""

_WORDS = re.compile(
    r"(^|_)(BY|(EN)?COM|SUR|TRES|OVER|UNDER|MULTI|SINGLE|SUB|ONE|TWO|FIRST|SECOND|LAST|LOW|HIGH|BAND|ALL)PASS[0-9]*$"
    r"|(^|_)(HOST|BUILD|INIT|START|WORK|PROJECT)_?PWD$"
)
"""Words that end in "pass", and names of working directories."""

_COUNTS = re.compile(r"^TOKEN_|(^|_)TOKENS[0-9]*$|TOKENS_PER_")
"""Names of fields that count tokens of text."""

_ORDINARY = re.compile(
    r"^(ID|FULL|TEXT|TITLE|LABEL|GROUP|SORT|PRIMARY|FOREIGN|COLUMN|FIELD|PAD|SEP|BOS|EOS|UNK|CLS|MASK|STOP|START|END)"
    r"_(KEY|TOKEN)[0-9]*$"
)
"""Keys of records and of Hydra's errors, and tokens of a vocabulary."""

_OF_VARIABLES = re.compile(
    r"""^TOKEN_(?!.*(KEY|SECRET|PASSWORD)$) | TOKENS_PER_
      | (^|_)(?<!API_)(?<!ACCESS_)(?<!AUTH_)(?<!SECRET_)(KEYS|TOKENS)[0-9]*$   # STOP_TOKENS, but not API_TOKENS
      | (^|_)(RENDER|SHADER|SHADOW|DEPTH|LIGHTING|FORWARD|BACKWARD|COMPILER?|OPTIMIZER|DRY|PER)_?PASS[0-9]*$
      | _(ENDPOINT|UR[IL]|HOST|ISSUER|AUDIENCE|SCOPES?|TYPE|KIND|FORMAT|MODE|POLICY|MODEL|PROVIDER|BACKEND|LAYOUT
         |MAPPING|PREFIX|SEPARATOR|DELIMITER|ALGORITHM|REGION|VERSION|LIMIT|COUNT|SIZE|LENGTH|LEN|TTL|TIMEOUT|LIFETIME
         |EXPIR(ES|Y|ATION)(_IN|_AT)?|ENABLED|REQUIRED)$""",
    re.VERBOSE,
)
"""Variables that describe a secret, or hold tokens of text, keys of records and passes of a renderer."""

_RESEMBLES = re.compile(r"SIGNING$|_[AS]K$")
"""Variables that may hold a key, such as QIANFAN_SK, or anything else."""

_RESULT_NAMES = frozenset({"DATASET_KEY"})
"""Names in our results: the key of a data set is a hash of its content."""

_VAGUE = frozenset(
    {"KEY", "KEYS", "TOKEN", "PASS", "PW", "PAT", "AUTH", "BEARER", "JWT", "SIG", "SAS", "COOKIE", "CREDS"}
)
"""Names that may belong to any field of user data, so the value decides."""

_OF_ACCESS = frozenset({"TOKEN", "PASS", "PW", "PWD"})
"""Names of parameters that give access, whatever their value. Elsewhere they have other meanings."""

_OF_WORDS = re.compile(r"PASS|PWD|PSWD?|SECRET|PSK|(^|_)PW(_|[0-9]*$)")
"""Names of secrets that may consist of words, unlike a key or a token."""

NAMES_PAIRS = re.compile(r"(CONN(ECTION)?_?STR(ING)?S?|CONN_?INFO|DSN)(_|$)")
"""Variables with the settings of a connection, as in `Server=db;Password=...`. Matched against names in capitals."""

NAMES_HEADERS = re.compile(r"(^|_)HEADERS?$")
"""Variables with headers, as in `x-team=...,x-other=...` and `Authorization: Bearer ...`."""

NAMES_SECRET_HEADERS = re.compile(r"^OTEL_EXPORTER_OTLP_(\w+_)?HEADERS$")
"""Variables with headers whose names need not tell."""

NAMES_PROXY = re.compile(r"_PROXY$")
"""Variables with the address of a proxy, which may lack its scheme."""

PLAIN = re.compile(r"\d{1,6}|true|false|yes|no|on|off|none|null|", re.IGNORECASE)
"""Values that are not secrets, as in `MAX_TOKENS=512`."""

KEY_SHAPE = re.compile(
    r"""\b(?: (?:sk|pk|rk|glpat|nvapi|pplx|xai|xox[abeprs])-[\w-]{16,} | (?:hf|gsk|r8|gh[pousr])_[A-Za-z0-9]{16,}
            | github_pat_\w{16,}
            | A[KS]IA[0-9A-Z]{16} | AIza[\w-]{30,}
            | eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]* )
      | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY""",
    re.VERBOSE,
)
"""Formats of keys from providers of models, code hosting and clouds, of signed tokens, and of private keys."""

USERINFO = re.compile(
    r"""(?<=://)(?:[^\s/?#"'<>]*@                                    # user:password@, up to the last @
                | [^\s/?#"':@<>]*:(?!\d{1,5}(?:[/?#\s]|$))(?:(?!://)[^\s"'<>]){0,1000}@)  # a password with a slash""",
    re.VERBOSE,
)
"""User and password in an address, including the @. A colon before digits and a slash belongs to a port."""

_PLACEHOLDERS = frozenset(
    "changeme dummy-key fake-key my-api-key no-key-needed no-key-required not-needed not-required not-used "
    "placeholder sk-no-key-required token-abc123 your-api-key your-key-here".split()
)
"""Placeholders for servers without a key."""

_MIN_LENGTH, _SURE_LENGTH = 8, 16
_MIN_DISTINCT = 4
_DECIMAL = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d{1,3})?")
_PIECE = re.compile(r"[A-Za-z0-9]{12,}")
_CHANGE = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
_MIN_CHANGES = 3
_VARIABLE = re.compile(r"(?=.{1,64}$)[A-Z_][A-Z0-9_]*")
_MAX_DIGITS = 4


@lru_cache(4096)
def names_secret(name: str) -> bool:
    """Return True if a variable, option, parameter or header of this name contains a secret."""
    plain = _in_capitals(name)
    is_other = _INDICATES_PLACE.search(plain) or _WORDS.search(plain) or plain in _RESULT_NAMES
    return bool(_INDICATES_SECRET.search(plain)) and not is_other


@lru_cache(4096)
def is_doubtful(name: str) -> bool:
    """Return True for a secret-like name of a variable that usually contains something else, such as `STOP_TOKENS`."""
    plain = _in_capitals(name)
    is_other = _OF_VARIABLES.search(plain) or _ORDINARY.search(plain) or _WORDS.search(plain)
    is_doubtful_name = _RESEMBLES.search(plain) or (_INDICATES_SECRET.search(plain) and is_other)
    return bool(is_doubtful_name) and not _INDICATES_PLACE.search(plain)


@lru_cache(4096)
def field_names_secret(name: str, value: str) -> bool:
    """Return True if a field of a configuration or a document with this name and value contains a secret.

    Names such as `max_tokens` do not indicate one. A vague name such as `key` does if the value may be a secret.
    """
    plain = _in_capitals(name)
    if not names_secret(name) or _COUNTS.search(plain) or _ORDINARY.search(plain) or PLAIN.fullmatch(value):
        return False
    return plain.rstrip("0123456789") not in _VAGUE or may_be_secret(value)


def may_consist_of_words(name: str) -> bool:
    """Return True for the name of a password or another secret that people choose, which may consist of words."""
    return bool(_OF_WORDS.search(_in_capitals(name)))


def gives_access(name: str, value: str) -> bool:
    """Return True for a parameter in a configuration, such as `token`, that contains a secret of any form."""
    return _in_capitals(name) in _OF_ACCESS and not PLAIN.fullmatch(value)


def may_be_secret(value: str) -> bool:
    """Return True for a value that is long and irregular enough to be a secret, and not a word of ordinary text.

    It has 16 characters, or 8 with a digit, a capital after the first letter, or a character other than letters, `-`,
    `_`, `.` and space.
    """
    value = value.strip()
    if len(value) < _MIN_LENGTH or len(set(value)) < _MIN_DISTINCT or value.lower() in _PLACEHOLDERS:
        return False
    if _DECIMAL.fullmatch(value) or (re.fullmatch(r"[\d.,+-]+", value) and len(value) < _SURE_LENGTH):
        return False
    return len(value) >= _SURE_LENGTH or bool(re.search(r"\d|.[A-Z]|[^\w\s.-]", value, re.DOTALL))


def looks_random(value: str) -> bool:
    """Return True for a value with 12 or more letters and digits in a row that no words form: they change at least
    three times between small letters, capitals and digits. A capital may begin a word.
    """
    return any(len(_CHANGE.findall(piece)) >= _MIN_CHANGES for piece in _PIECE.findall(value))


def is_variable_name(text: str) -> bool:
    """Return True for the usual name of an environment variable, in capitals. Return False for a key in its place."""
    is_name = _VARIABLE.fullmatch(text) and sum(map(str.isdigit, text)) <= _MAX_DIGITS
    return bool(is_name) and not KEY_SHAPE.search(text)


def _in_capitals(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]", "_", name.strip()).upper()
