"""Data types in which a model computes."""

from enum import StrEnum


class Dtype(StrEnum):
    """Data types by their torch names. The 16-bit types are for GPUs; most CPUs are slower with them."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
