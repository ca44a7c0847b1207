"""Language models in a vLLM server that is started for the sweep, and stopped after it."""

import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from components.fields import runtime_only
from components.llms.openai_chat import OpenAIChat
from components.llms.sampling import sampling_problems
from components.openai_server.managed_servers import LOG, ensure_server
from components.pretrained.model_folder import hash_folder, local_folder, model_problems
from components.protocols import AnswersFrom
from components.records import Answer, Request

_ADAPTER = "adapter"
"""Name under which the server offers the model with its adapter."""


@dataclass(frozen=True)
class VllmChat:
    """A model in a `vllm serve` that starts at the first request. Requests are sent as in `OpenAIChat`.

    All cells and processes of a sweep that describe the same server share it. It stops when the last of them ends, even
    if that one is killed. For a server that is already running, use `llm=openai`.

    `model` is a hub id with its commit as `revision`, or a local folder with revision "". `adapter` is the folder of a
    LoRA adapter, "" for none. `command` is the vllm program of a separate environment, because its packages conflict
    with ours. `arguments` are arguments of `vllm serve` that affect the answers, such as "--quantization fp8
    --max-model-len 16384". `runtime_arguments` do not affect them, such as "--tensor-parallel-size 2". Each server logs
    to a separate folder in `log_dir`. See `OpenAIChat` for the other fields.
    """

    model: str
    revision: str
    adapter: str = ""
    arguments: str = ""
    temperature: float | None = 0.0
    top_p: float | None = 1.0
    max_new_tokens: int = 1024
    stop: tuple[str, ...] = ()
    seed: int | None = 0
    extra_body: str = ""
    command: str = runtime_only("vllm", "the location of a program does not change its output", runs="the program")
    runtime_arguments: str = runtime_only("", "they change speed and memory only")
    log_dir: str = runtime_only("results/servers", "a folder for logs")
    start_timeout_s: float = runtime_only(1800.0, "large models take minutes to load")
    timeout_s: float = runtime_only(600.0, "an answer that arrives too late is requested again")
    max_retries: int = runtime_only(5, "failures are retried until an answer arrives; failed ones are not cached")
    backoff_s: float = runtime_only(1.0, "waiting changes no answer")
    concurrency: int = runtime_only(64, "requests do not depend on each other")
    completions_per_request: int = runtime_only(1, "without a seed, draws are the same together and one by one")

    version: ClassVar[int] = 1
    answers_from: ClassVar[AnswersFrom] = AnswersFrom.MESSAGES
    is_free: ClassVar[bool] = True

    def check(self) -> list[str]:
        """Return error messages about a missing command, an unusable model or adapter, and numbers out of range."""
        problems = model_problems(self.model, self.revision) + sampling_problems(self)
        problems += self._command_problems()
        folder = local_folder(self.adapter)
        if self.adapter and (folder is None or not (folder / "adapter_config.json").is_file()):
            problems.append(
                f"adapter: got {self.adapter!r}, expected a folder with adapter_config.json, as PEFT saves it"
            )
        if not self.start_timeout_s > 0:
            problems.append(f"start_timeout_s: got {self.start_timeout_s}, expected more than 0")
        if self.model:
            problems += [problem for problem in self._client("http://127.0.0.1:1").check() if problem not in problems]
        return problems

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of the local folders of model and adapter, "" for none.

        Raises ComponentError if a folder does not exist.
        """
        return " ".join(
            filter(None, [hash_folder(self.model), self.adapter and hash_folder(self.adapter, is_adapter=True)])
        )

    def generate(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """Yield answers as they arrive. Raises ComponentError if the server cannot be started."""
        if not requests:
            return
        folder = Path(self.log_dir).absolute() / sha256(shlex.join(self._command(0)).encode()).hexdigest()[:12]
        client = self._client(ensure_server(self._command, folder, self.start_timeout_s))
        ended = f"the server that the sweep started has ended; see {folder / LOG}"
        yield from client.generate_with(replace(client.server, if_refused=ended), requests)

    def _command_problems(self) -> list[str]:
        program = Path(self.command).expanduser()
        if shutil.which(str(program)):
            return []
        is_path = len(program.parts) > 1  # a name without a folder is searched in PATH only
        if is_path and program.is_dir():
            return [
                f"command: {self.command!r} is a folder, expected the program in it, e.g. {program / 'bin' / 'vllm'}"
            ]
        if is_path and program.exists():
            return [f"command: {self.command!r} is not executable. Fix it with: chmod +x {shlex.quote(str(program))}"]
        return [
            f"command: the program {self.command!r} does not exist. Install vLLM in a separate environment (python -m "
            "venv ~/vllm && ~/vllm/bin/pip install vllm) and set command to ~/vllm/bin/vllm"
        ]

    def _command(self, port: int) -> list[str]:
        folder = local_folder(self.model)
        model = str(folder.absolute()) if folder else self.model
        command = [str(Path(self.command).expanduser()), "serve", model, "--host", "127.0.0.1", "--port", str(port)]
        command += ["--served-model-name", self.model]
        if self.revision:
            command += ["--revision", self.revision]
        if self.adapter:
            adapter = Path(self.adapter).expanduser().absolute()
            command += ["--enable-lora", "--lora-modules", f"{_ADAPTER}={adapter}"]
        return [*command, *shlex.split(self.arguments), *shlex.split(self.runtime_arguments)]

    def _client(self, address: str) -> OpenAIChat:
        return OpenAIChat(
            _ADAPTER if self.adapter else self.model,
            temperature=self.temperature,
            top_p=self.top_p,
            max_new_tokens=self.max_new_tokens,
            stop=self.stop,
            seed=self.seed,
            extra_body=self.extra_body,
            base_url=f"{address}/v1",
            api_key_env="",
            timeout_s=self.timeout_s,
            max_retries=self.max_retries,
            backoff_s=self.backoff_s,
            concurrency=self.concurrency,
            completions_per_request=self.completions_per_request,
        )
