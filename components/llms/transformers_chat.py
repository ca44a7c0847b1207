"""Language models on this machine, run by transformers."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from components.errors import ComponentError
from components.fields import code_metadata, runtime_only
from components.llms.sampling import sampling_problems
from components.pretrained.batches import batch_tokens_problems
from components.pretrained.causal_model import PACKAGES, CausalModel, GeneratedText, ModelPrompt, SamplingSettings
from components.pretrained.chat_template import apply_template, missing_template, template_problems
from components.pretrained.dtype import Dtype
from components.pretrained.model_folder import (
    hash_folder,
    local_folder,
    missing_package_errors,
    model_problems,
    tokenizer_problems,
)
from components.protocols import AnswersFrom
from components.records import Answer, AnswerState, ErrorClass, Request
from components.text.thoughts import split_thoughts


@dataclass(frozen=True)
class TransformersChat:
    """A model that `generate` of transformers runs on batches of requests, in the model's chat template.

    `model` is a hub id with its commit as `revision`, or a local folder with revision "". `adapter` is the folder of a
    LoRA adapter, "" for none. `chat_template` is a Jinja template, "" for the model's own. Code from the model's folder
    runs only with `trust_remote_code`.

    Temperature 0 takes the likeliest token. Above 0, tokens are sampled from the likeliest ones that sum to `top_p`.
    The random numbers depend on `seed`, the request and its draw, so an answer does not depend on its batch. The text
    ends before the first word of `stop`.

    A request that does not fit into the model's window with `max_new_tokens` ends as ERROR (TOO_LONG). Thoughts in
    <think> and </think> are separated. JSON schemas are not enforced. A batch has `batch_tokens` tokens of prompts and
    answers, or a single request; None chooses a size for the device.
    """

    model: str
    revision: str
    adapter: str = ""
    chat_template: str = ""
    temperature: float = 0.0
    top_p: float = 1.0
    max_new_tokens: int = 512
    stop: tuple[str, ...] = ()
    seed: int = 0
    dtype: Dtype = Dtype.BFLOAT16
    trust_remote_code: bool = field(default=False, metadata=code_metadata("the code in its model's folder"))
    batch_tokens: int | None = runtime_only(None, "padded differently: rounding, which may break a tie between tokens")
    device: str = runtime_only("auto", "the same sums on another device: rounding, which may tip a token that ties")

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_free: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Return error messages about missing packages, an unusable model or adapter, a missing or broken chat
        template, and numbers out of range.
        """
        packages = (*PACKAGES, "peft") if self.adapter else PACKAGES
        problems = [str(error) for error in missing_package_errors(packages, "llm=transformers")]
        of_model = model_problems(self.model, self.revision) or tokenizer_problems(self.model)
        problems += of_model or ([] if problems else template_problems(self.model, self.chat_template))
        problems += sampling_problems(self)
        if self.adapter:
            folder = local_folder(self.adapter)
            if folder is None or not (folder / "adapter_config.json").is_file():
                problems.append(
                    f"adapter: got {self.adapter!r}, expected a folder with adapter_config.json, as PEFT saves it"
                )
        problems += batch_tokens_problems(self.batch_tokens)
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of the local folders of model and adapter, "" for none.

        Raises ComponentError if a folder does not exist.
        """
        hashes = [hash_folder(self.model), *([hash_folder(self.adapter, is_adapter=True)] if self.adapter else [])]
        return " ".join(filter(None, hashes))

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers batch by batch, the longest prompts first.

        The latency of an answer is the time of its batch divided by the number of answers. Raises ComponentError if the
        model cannot be loaded, has no chat template or computes numbers that are not finite, or if a batch does not fit
        into memory.
        """
        if not requests:
            return
        causal = CausalModel(self.model, self.revision, self.adapter, self.dtype, self.trust_remote_code, self.device)
        fitting: list[tuple[Request, ModelPrompt]] = []
        for request in requests:
            prompt = self._prompt(causal, request)
            if isinstance(prompt, Answer):
                yield prompt
            else:
                fitting.append((request, prompt))
        drawing = SamplingSettings(self.temperature, self.top_p, self.max_new_tokens, self.stop)
        started = time.perf_counter()
        for batch in causal.write([prompt for _, prompt in fitting], drawing, self.batch_tokens):
            latency_s = (time.perf_counter() - started) / len(batch)
            for written in batch:
                request, prompt = fitting[written.position]
                yield _answer(request.id, len(prompt.token_ids), written, latency_s)
            started = time.perf_counter()

    def _prompt(self, causal: CausalModel, request: Request) -> ModelPrompt | Answer:
        """Return the tokens of a request. Return a failed answer if the template rejects the messages, if they have an
        unpaired surrogate, or if the prompt exceeds the window.
        """
        from jinja2 import TemplateError

        tokenizer = causal.tokenizer
        if not (self.chat_template or tokenizer.chat_template):
            raise ComponentError(f"model {missing_template(self.model)}")
        try:
            text = apply_template(tokenizer, request.messages, self.chat_template)
        except TemplateError as error:
            return Answer.from_failure(
                request, f"the chat template refuses the messages: {error}", ErrorClass.BAD_REQUEST
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = ascii(text[error.start])
            return Answer.from_failure(
                request,
                f"the prompt contains {half}, half of a character (a lone surrogate), which no tokenizer can read. "
                "Fix it in the data or in the prompt's template.",
                ErrorClass.BAD_REQUEST,
            )
        # Not verbose: the check below reports a prompt that is too long.
        token_ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        if len(token_ids) + self.max_new_tokens > causal.window:
            return Answer.from_failure(
                request,
                f"{len(token_ids)} tokens of the prompt and max_new_tokens={self.max_new_tokens} do not fit into "
                f"the window of {self.model!r}, {causal.window} tokens. Use fewer or shorter passages, or lower "
                "max_new_tokens.",
                ErrorClass.TOO_LONG,
            )
        return ModelPrompt(token_ids, f"{self.seed} {request.draw} {request.id} {text}")


def _answer(request_id: str, n_prompt: int, written: GeneratedText, latency_s: float) -> Answer:
    thoughts, text = split_thoughts(written.text)
    state = AnswerState.TRUNCATED if written.is_truncated else AnswerState.OK if text else AnswerState.EMPTY
    return Answer(
        request_id,
        state,
        text,
        thoughts=thoughts,
        n_prompt_tokens=n_prompt,
        n_completion_tokens=written.n_tokens,
        n_reasoning_tokens=None if thoughts else 0,
        latency_s=latency_s,
    )
