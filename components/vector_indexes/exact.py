"""Exact search for the nearest vectors by FAISS, on a CPU or a GPU."""

import ctypes
from enum import StrEnum
from importlib.metadata import packages_distributions
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.errors import ComponentError, install_command
from components.loading import loading
from components.vector_indexes.mapped import row_blocks

Position = TypeVar("Position", bound=np.integer)

_MAX_GPU_HITS = 2048
"""Maximum number of hits per query that FAISS supports on a GPU."""

_RESERVED = 3 << 29
"""Bytes of GPU memory reserved for FAISS's computation: 1.5 GiB."""

_MIN_BYTES = 1 << 28
"""Minimum bytes for vectors on the GPU, 256 MiB: with less, a search would only copy."""

_QUERIES_AT_ONCE = 16_384
"""Queries per pass over the vectors: a multiple of the 4,096 that FAISS multiplies in one step."""


class Device(StrEnum):
    """The device of a search. AUTO is a GPU if FAISS can use one for the search, else the CPU."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


def device_problems(device: Device) -> list[str]:
    """Return an error message for a GPU if FAISS has no GPU support. It does not import FAISS."""
    if device is not Device.GPU or set(packages_distributions().get("faiss", ())) != {"faiss-cpu"}:
        return []
    return [f"device: got gpu, but the installed FAISS is faiss-cpu, {_remedy()}"]


def nearest(
    queries: NDArray[np.float32], vectors: NDArray[np.float32], n: int, device: Device
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the `n` largest inner products, float32[n_queries, n], and their positions, int64[n_queries, n].

    There must be at least `n` vectors. Scores of CPU and GPU differ by rounding, about 1e-6. Vectors in a file are read
    in blocks, and vectors that exceed the memory of the GPU are copied in blocks. Raises ComponentError if `device` is
    GPU and it cannot be used.
    """
    vectors = np.ascontiguousarray(vectors)
    if device is not Device.CPU:
        obstacle = _obstacle(n)
        if not obstacle:
            return _search_on_gpu(np.ascontiguousarray(queries), vectors, n)
        if device is Device.GPU:
            raise ComponentError(
                f"vector_index.device: got gpu, but {obstacle}. Otherwise set vector_index.device=cpu."
            )
    batches = (queries[first : first + _QUERIES_AT_ONCE] for first in range(0, max(len(queries), 1), _QUERIES_AT_ONCE))
    score, positions = zip(*(_search_on_cpu(batch, vectors, n) for batch in batches), strict=True)
    return np.concatenate(score), np.concatenate(positions)


def _search_on_cpu(
    queries: NDArray[np.float32], vectors: NDArray[np.float32], n: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    with loading():
        import faiss

    score = np.zeros((len(queries), 0), dtype=np.float32)
    positions = np.zeros((len(queries), 0), dtype=np.int64)
    first = 0
    for block in row_blocks(vectors):
        block_best = faiss.knn(queries, block, min(n, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
        score, positions = best(
            np.concatenate([score, block_best[0]], axis=1),
            np.concatenate([positions, block_best[1] + first], axis=1),
            n,
        )
        first += len(block)
    return score, positions


def best(
    score: NDArray[np.float32], positions: NDArray[Position], n: int
) -> tuple[NDArray[np.float32], NDArray[Position]]:
    """Return the `n` largest scores of each row and their positions. Equal scores keep their order."""
    order = np.argsort(-score, axis=1, kind="stable")[:, :n]
    return np.take_along_axis(score, order, axis=1), np.take_along_axis(positions, order, axis=1)


def _obstacle(n: int) -> str:
    """Return the reason why a search cannot run on a GPU, with the remedy, "" if it can."""
    if not n_gpus():
        return f"FAISS finds no GPU here: {_remedy()}"
    if n > _MAX_GPU_HITS:
        return f"the search needs {n:,} hits per query, and a GPU supports {_MAX_GPU_HITS:,}: reduce the depth"
    try:
        free = free_gpu_bytes()
    except OSError as error:
        return f"CUDA does not report its free memory ({error}): {_remedy()}"
    if free < _RESERVED + _MIN_BYTES:
        return (
            f"{free / 2**30:.1f} GiB of its memory is free, but {(_RESERVED + _MIN_BYTES) / 2**30:.2f} GiB is needed: "
            "check for other processes on it (nvidia-smi)"
        )
    return ""


def n_gpus() -> int:
    """Return the number of GPUs that FAISS can use, or 0 if it does not support GPUs."""
    with loading():
        import faiss

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:  # without a driver, FAISS would end the process
        return 0
    return int(faiss.get_num_gpus())


def _search_on_gpu(
    queries: NDArray[np.float32], vectors: NDArray[np.float32], n: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    import faiss

    n_bytes_of_hits = len(queries) * n * (np.dtype(np.float32).itemsize + np.dtype(np.int64).itemsize)
    limits = block_limits(vectors.nbytes, queries.nbytes + n_bytes_of_hits, free_gpu_bytes() - _RESERVED)
    resources = faiss.StandardGpuResources()
    resources.setTempMemory(_RESERVED // 3)
    result: tuple[Any, Any] = faiss.knn_gpu(
        resources,
        queries,
        vectors,
        n,
        metric=faiss.METRIC_INNER_PRODUCT,
        vectorsMemoryLimit=limits[0],
        queriesMemoryLimit=limits[1],
    )
    return result


def block_limits(vectors_bytes: int, queries_bytes: int, free_bytes: int) -> tuple[int, int]:
    """Return the bytes of vectors, and of queries with their hits, that may be on the GPU together; (0, 0) for all."""
    if vectors_bytes + queries_bytes <= free_bytes:
        return 0, 0
    return free_bytes - free_bytes // 4, free_bytes // 4


def free_gpu_bytes() -> int:
    """Return the free memory of CUDA's first GPU. Raises OSError if CUDA does not report it."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    # The library that faiss-gpu-cu12 has loaded. FAISS itself does not offer this number.
    code = ctypes.CDLL("libcudart.so.12").cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
    if code:
        raise OSError(f"error {code} of the CUDA runtime")
    return free.value


def _remedy() -> str:
    return (
        f"expected faiss-gpu-cu12 and an NVIDIA GPU with CUDA 12: {install_command('gpu')}, then "
        "python -m pip uninstall -y faiss-cpu, then python -m pip install --force-reinstall --no-deps faiss-gpu-cu12"
    )
