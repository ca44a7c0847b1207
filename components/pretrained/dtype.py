"""Data types in which a model computes."""

from enum import StrEnum
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
"""Flags of the CPUs on Linux."""


class Dtype(StrEnum):
    """Data types by their torch names. The 16-bit types are for GPUs; most CPUs are slower with them."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


_FLAGS = {
    Dtype.BFLOAT16: {"avx512_bf16", "amx_bf16", "bf16"},
    Dtype.FLOAT16: {"avx512_fp16", "amx_fp16", "asimdhp"},
}


def cpu_supports(dtype: Dtype) -> bool:
    """Return True if the CPU has instructions for a data type, or if that is unknown."""
    if dtype is Dtype.FLOAT32 or not _CPUINFO.is_file():
        return True
    return not _FLAGS[dtype].isdisjoint(_CPUINFO.read_text(encoding="utf-8", errors="replace").split())
