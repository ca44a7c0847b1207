"""The numbers that a model computes with."""

from enum import StrEnum


class Dtype(StrEnum):
    """As torch calls them. Half as long ones are for GPUs; most CPUs are slower with them."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
