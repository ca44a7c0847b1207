"""Division of texts among processes. The encoders count letters, because only the division is tested."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.errors import ComponentError
from components.pretrained.encoder_processes import encode_in_processes, list_devices
from components.pretrained.load_once import release_all_but
from components.pretrained.sentence_encoder import Side


@dataclass(frozen=True)
class LetterEncoder:
    """Vectors of: length of the text, of the prompt, number of the device, and of the process."""

    model: str = "letters"
    revision: str = ""

    def encode(
        self, texts: Sequence[str], side: Side, prompt: str, batch_tokens: int | None, device: str
    ) -> NDArray[np.float32]:
        if "die" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        rows = [[len(text), len(prompt), int(device[-1]), os.getpid()] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 4)


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    release_all_but(())
    yield
    release_all_but(())


def encode(texts: Sequence[str], devices: tuple[str, ...]) -> NDArray[np.float32]:
    encoder: Any = LetterEncoder()
    return encode_in_processes(encoder, texts, Side.QUERY, "q: ", None, devices)


def test_encoder_processes_use_their_devices_and_end_with_release() -> None:
    texts = ["x" * (number * 7 % 50) for number in range(101)]
    vectors = encode(texts, ("gpu:0", "gpu:1"))
    assert vectors[:, 0].tolist() == [len(text) for text in texts]
    assert set(vectors[:, 1].tolist()) == {3}
    assert set(vectors[:, 2].tolist()) <= {0, 1}
    children = multiprocessing.active_children()
    assert len(children) == 2
    for made in (vectors, encode(texts, ("gpu:0", "gpu:1"))):
        assert set(made[:, 3].tolist()) <= {child.pid for child in children}
    release_all_but(())
    # The pool's thread also waits for the children, so for a moment neither thread may know that a child has ended.
    until = time.monotonic() + 20
    while any(child.is_alive() for child in children) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(child.is_alive() for child in children)


def test_dead_encoder_process_is_an_error_and_replaced_afterwards() -> None:
    with pytest.raises(ComponentError, match="one of 2 processes that embed with 'letters' died"):
        encode(["one", "die"], ("gpu:0", "gpu:1"))
    assert encode(["one", "two"], ("gpu:0", "gpu:1"))[:, 0].tolist() == [3, 3]


def test_single_device_starts_no_encoder_process() -> None:
    assert encode([], ("gpu:0",)).shape == (0, 4)
    assert encode(["one"], ("gpu:0",))[0, 3] == os.getpid()


def test_encoder_devices_follow_the_configured_process_count(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="the extra `models` is not installed")
    assert list_devices("cpu", 1) == ("cpu",)
    assert list_devices("cpu", 0) == ("cpu",)
    assert list_devices("cpu", 3) == ("cpu",) * 3
    monkeypatch.setattr("components.pretrained.encoder_processes.torch_device", lambda device: device)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert list_devices("cuda", 0) == ("cuda:0", "cuda:1")
    assert list_devices("cuda", 1) == ("cuda",)
    assert list_devices("cuda:1", 1) == ("cuda:1",)
    with pytest.raises(ComponentError, match="n_processes: got 3 for 2 GPUs"):
        list_devices("cuda", 3)
