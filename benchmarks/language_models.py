"""Tokens per second of `llm=transformers` and of the package's own text-generation pipeline, side by side.

On a CPU, the model has 6 layers and 384 dimensions, timed in seconds of one core. On a GPU, if there is one, it has
Qwen2-7B's size, timed in seconds of the clock. Weights are random, so answers say nothing, but must be equal. Prompts
are real: news from CRUD-RAG, of various lengths.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import crud_rag
from benchmarks.child import in_child
from benchmarks.measure import Bound, Measure
from benchmarks.random_causal import QWEN_7B, SMALL, save_random_causal
from benchmarks.settings import Settings

_N_WRITTEN = {"cpu": 16, "cuda": 128}
_N_PROMPTS = {"cpu": 32, "cuda": 384}
_PACKAGE_ROWS = 16
"""Rows of the pipeline's batches. Users set a number of rows that fits into memory with the longest prompts."""


@dataclass(frozen=True)
class SpeedComparison:
    """Tokens written per second, and the number of answers that both wrote alike."""

    own: float
    package: float
    n_equal: int
    n_prompts: int

    def measures(self, name: str) -> list[Measure]:
        """Return the ratio of the two speeds, and the share of equal answers."""
        detail = f"{self.own:,.0f} / {self.package:,.0f} tokens written per second; {self.n_prompts} prompts"
        equal = self.n_equal / self.n_prompts
        ties = "of answers; others differ after a token that ties up to rounding"
        return [
            Measure(name, self.own / self.package, "x", detail, Bound(1.0, at_least=True)),
            Measure(f"{name}: equal", equal, "share", ties),
        ]


def measure(settings: Settings) -> list[Measure]:
    """Return the measures. Each device has a separate process; machines without a GPU leave it out."""
    measures = in_child(on_cpu, settings).value.measures("a small model on one core")
    gpu = in_child(on_gpu, settings).value
    return measures + (gpu.measures("Qwen2-7B's size on a GPU") if gpu else [])


def on_cpu(settings: Settings) -> SpeedComparison:
    """Compare both on one thread, in seconds of its core."""
    import torch

    torch.set_num_threads(1)
    folder = save_random_causal(settings.scratch / "small", SMALL, dtype="float32", device="cpu")
    return _compare(folder, _prompts(settings, "cpu"), "cpu", "float32", time.process_time)


def on_gpu(settings: Settings) -> SpeedComparison | None:
    """Compare both on the GPU. Return None if the machine has no GPU."""
    import torch

    if not torch.cuda.is_available():
        return None
    folder = save_random_causal(settings.scratch / "large", QWEN_7B, dtype="bfloat16", device="cuda")
    torch.cuda.empty_cache()
    return _compare(folder, _prompts(settings, "cuda"), "cuda", "bfloat16", time.perf_counter)


def _prompts(settings: Settings, device: str) -> list[str]:
    """Return texts of 50 to 400 characters, each three bytes and thus three tokens."""
    n = _N_PROMPTS[device]
    documents = crud_rag.documents(settings.crud_rag, 10 * n)[::10]
    return [text[: 50 + 350 * number * 7 % n // n] + f" {number}" for number, text in enumerate(documents)]


def _compare(
    folder: Path, prompts: Sequence[str], device: str, dtype: str, clock: Callable[[], float]
) -> SpeedComparison:
    import torch
    from transformers import pipeline

    from components.llms.transformers_chat import TransformersChat
    from components.pretrained.dtype import Dtype
    from components.records import Kind, Message, Request, Sample

    n_written = _N_WRITTEN[device]
    own = TransformersChat(str(folder), "", max_new_tokens=n_written, dtype=Dtype(dtype), device=device)
    package = pipeline("text-generation", str(folder), dtype=getattr(torch, dtype), device=device)
    sample = Sample("s", "all", Kind.QA, "question", (), ())
    requests = [Request(str(number), (Message("user", text),), sample, ()) for number, text in enumerate(prompts)]

    def write() -> dict[str, str]:
        return {answer.request_id: answer.text for answer in own.generate(requests)}

    def write_by_package() -> dict[str, str]:
        found = package(
            list(prompts), batch_size=_PACKAGE_ROWS, max_new_tokens=n_written, do_sample=False, return_full_text=False
        )
        return {str(number): one[0]["generated_text"] for number, one in enumerate(found)}

    list(own.generate(requests[:2]))
    package(list(prompts[:2]), max_new_tokens=2, do_sample=False)
    seconds, texts = [], []
    for work in (write_by_package, write):
        started = clock()
        texts.append(work())
        seconds.append(clock() - started)
    n_equal = sum(texts[0][name].strip() == text.strip() for name, text in texts[1].items())
    n_tokens = len(prompts) * n_written
    return SpeedComparison(n_tokens / seconds[1], n_tokens / seconds[0], n_equal, len(prompts))
