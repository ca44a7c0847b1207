from pathlib import Path

import pytest

from components.pretrained import dtype
from components.pretrained.dtype import Dtype, cpu_supports


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu sse2 avx512f avx512_vnni", {Dtype.FLOAT32}),
        ("fpu avx512f avx512_bf16", {Dtype.FLOAT32, Dtype.BFLOAT16}),
        ("fp asimd asimdhp bf16", {Dtype.FLOAT32, Dtype.FLOAT16, Dtype.BFLOAT16}),
        ("avx512_bf16x not_bf16", {Dtype.FLOAT32}),
    ],
)
def test_supported_dtypes_are_read_from_the_cpu_flags(
    flags: str, expected: set[Dtype], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dtype, "_CPUINFO", tmp_path / "cpuinfo")
    assert all(map(cpu_supports, Dtype)), "unknown: no warning"
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
    assert {each for each in Dtype if cpu_supports(each)} == expected
