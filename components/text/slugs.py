"""Slugs: short ASCII forms of names in [a-z0-9_], safe in names of files and metrics."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable


def make_slugs(names: Iterable[str]) -> dict[str, str]:
    """Return a slug for every non-blank name, all distinct (except for names that `make_slug` treats as equal).

    The slug of an ASCII name with a letter or digit is the name in lower case with underscores, if no other name shares
    it. Other slugs end in a hash.
    """
    plain = {name: "_".join(re.findall(r"[a-z0-9]+", name.lower())) for name in names if name.strip()}
    n_of = Counter(plain.values())
    return {
        name: slug if slug and name.isascii() and n_of[slug] == 1 else make_slug(name) for name, slug in plain.items()
    }


def make_slug(name: str) -> str:
    """Return a slug for any name: its ASCII letters and digits, then 8 hex digits of its SHA-256 to keep names
    distinct.
    """
    plain = plain_name(name)
    words = re.findall(r"[a-z0-9]+", plain.lower())
    return "_".join([*words, hashlib.sha256(plain.encode()).hexdigest()[:8]])


def plain_name(name: str) -> str:
    """Return one form for full-width and composed spellings of a name."""
    return unicodedata.normalize("NFKC", name).strip()
