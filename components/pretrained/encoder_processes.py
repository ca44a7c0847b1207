"""A model in several processes, one per GPU. Each process embeds a share of the texts."""

import signal
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.child_processes import SpawnWithoutMain, end_with_parent
from components.errors import ComponentError
from components.pretrained.load_once import load_once, release_all_but
from components.pretrained.model_folder import torch_device
from components.pretrained.sentence_encoder import SentenceEncoder, Side

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue


_SHARES_PER_PROCESS = 4
"""Shares of a block per process, each with long and short texts. A process that finishes takes the next share."""


def encode_in_processes(
    encoder: SentenceEncoder,
    texts: Sequence[str],
    side: Side,
    prompt: str,
    batch_tokens: int | None,
    devices: tuple[str, ...],
) -> NDArray[np.float32]:
    """Return the vectors of `encoder.encode`, computed in one process per device, or in this one for a single device.

    The processes live until the model is released. Raises ComponentError if the model cannot be loaded or run, or if a
    process dies.
    """
    if len(devices) == 1:
        return encoder.encode(texts, side, prompt, batch_tokens, devices[0])
    pool = _start(encoder.model, encoder.revision, encoder, devices)
    by_length = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
    n_shares = _SHARES_PER_PROCESS * len(devices)
    shares = [by_length[first::n_shares] for first in range(n_shares)]
    try:
        waiting = [
            pool.submit(_encode, encoder, [texts[row] for row in share], side, prompt, batch_tokens) for share in shares
        ]
        parts = [future.result() for future in waiting]
    except BrokenProcessPool as error:
        release_all_but(())  # the next stage starts new processes
        raise ComponentError(
            f"one of {len(devices)} processes that embed with {encoder.model!r} died, probably out of memory. "
            "Lower n_processes or batch_tokens."
        ) from error
    vectors = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
    for share, part in zip(shares, parts, strict=True):
        vectors[share] = part
    return vectors


def list_devices(device: str, n_processes: int) -> tuple[str, ...]:
    """Return one device per process. With 0 processes, there is one per GPU, or a single one without GPUs.

    Raises ComponentError if there are fewer GPUs than processes, or if torch cannot use the device.
    """
    import torch

    name = torch_device(device)
    n_gpus = torch.cuda.device_count() if name == "cuda" else 0
    n = n_processes or n_gpus or 1
    if name != "cuda":
        return (name,) * n
    if n > n_gpus:
        raise ComponentError(f"n_processes: got {n} for {n_gpus} GPUs, expected at most one per GPU, or 0 for all GPUs")
    return ("cuda",) if n == 1 else tuple(f"cuda:{number}" for number in range(n))


@load_once
def _start(model: str, revision: str, encoder: SentenceEncoder, devices: tuple[str, ...]) -> ProcessPoolExecutor:
    """Start processes that end when the pool is no longer referenced."""
    context = SpawnWithoutMain()
    free: SimpleQueue[str] = context.SimpleQueue()
    for device in devices:
        free.put(device)
    return ProcessPoolExecutor(len(devices), context, _start_worker, (free, len(devices)))


class _WorkerState:
    """State of a worker process."""

    device: str


def _start_worker(free: "SimpleQueue[str]", n_processes: int) -> None:
    """Initialize a worker process. It ignores Ctrl-C, which reaches the whole group: its parent ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _WorkerState.device = free.get()
    if _WorkerState.device == "cpu":
        import torch

        torch.set_num_threads(max(torch.get_num_threads() // n_processes, 1))


def _encode(
    encoder: SentenceEncoder, texts: list[str], side: Side, prompt: str, batch_tokens: int | None
) -> NDArray[np.float32]:
    return encoder.encode(texts, side, prompt, batch_tokens, _WorkerState.device)
