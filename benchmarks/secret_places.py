"""Places for a secret: in the environment, where it belongs, and in a configuration, where it is rejected."""

import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from benchmarks.leaky_server import OF_SERVERS, Failure

_SERVER = "http://127.0.0.1:{port}"
_CHAT = ("llm=openai", "llm.model=m", f"llm.base_url={_SERVER}/v1", "llm.max_retries=1", "llm.backoff_s=0")
_ASKED = (*_CHAT, "llm.timeout_s=1")
_NO_KEY = ("llm.api_key_env=",)
_EMBEDDED = ("retriever=dense", "embedder=openai", "embedder.model=m", f"embedder.base_url={_SERVER}/v1",
             "embedder.max_retries=0", "embedder.timeout_s=1")  # fmt: skip
_RERANKED = ("reranker=rerank_api", "reranker.model=m", f"reranker.base_url={_SERVER}/v1", "reranker.max_retries=0",
             "reranker.timeout_s=1")  # fmt: skip
_PIPED = ("pipeline=http", f"pipeline.url={_SERVER}/answer", "pipeline.revision=1", "pipeline.max_retries=1",
          "pipeline.backoff_s=0", "pipeline.timeout_s=1", "llm=none")  # fmt: skip
_JUDGED = ("llm=extractive", "judge=omnieval_zh", "judge.llm.model=m", f"judge.llm.base_url={_SERVER}/v1",
           "judge.llm.max_retries=1", "judge.llm.backoff_s=0", "judge.llm.timeout_s=1")  # fmt: skip
_ELSEWHERE = "http://model.invalid/v1"

Filled = Mapping[str, str]


@dataclass(frozen=True)
class Place:
    """A place for a secret in the `environment` or the `overrides` of a command, or in a preset `file`.

    `{secret}` is replaced by the secret, `{quoted}` by its percent-encoded form, and `{port}` by the port of a server.
    `failures` are the failures to try; none for a place that is rejected before any work.
    """

    name: str
    overrides: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    failures: tuple[Failure, ...] = ()
    file: str = ""

    @property
    def is_refused(self) -> bool:
        """True for a secret in a configuration."""
        return not self.failures

    def fill(self, secret: str, port: int) -> tuple[list[str], dict[str, str], str]:
        """Return overrides, environment and preset with this secret."""

        def fill(text: str) -> str:
            return (
                text.replace("{secret}", secret)
                .replace("{quoted}", quote(secret, safe=""))
                .replace("{port}", str(port))
            )

        environment = {name: fill(value) for name, value in (self.environment or {}).items()}
        return [fill(each) for each in self.overrides], environment, fill(self.file)


_WITH_SERVER = (*OF_SERVERS, Failure.REFUSED, Failure.RAISED)
_BY_PROXY = (*OF_SERVERS, Failure.REFUSED)
_OF_JUDGES = (*OF_SERVERS, Failure.REFUSED)
_PROXY = "http://me:{quoted}@127.0.0.1:{port}"
_VIA_PROXY = ("llm=openai", "llm.model=m", f"llm.base_url={_ELSEWHERE}", "llm.max_retries=1", "llm.backoff_s=0",
              "llm.timeout_s=1", *_NO_KEY)  # fmt: skip

ENVIRONMENT = (
    Place("the default key of llm", _ASKED, {"OPENAI_API_KEY": "{secret}"}, _WITH_SERVER),
    Place(
        "a key in a variable without a telling name",
        (*_ASKED, "llm.api_key_env=MY_LLM"),
        {"MY_LLM": "{secret}"},
        _WITH_SERVER,
    ),
    Place("the key of the embedder", _EMBEDDED, {"OPENAI_API_KEY": "{secret}"}, _WITH_SERVER),
    Place(
        "the key of the reranker",
        (*_RERANKED, "reranker.api_key_env=JINA_API_KEY"),
        {"JINA_API_KEY": "{secret}"},
        _WITH_SERVER,
    ),
    Place(
        "the key of a pipeline",
        (*_PIPED, "pipeline.api_key_env=MY_PIPELINE"),
        {"MY_PIPELINE": "{secret}"},
        (*OF_SERVERS, Failure.REFUSED),
    ),
    Place("the key of a judge", (*_JUDGED, "judge.llm.api_key_env=MY_JUDGE"), {"MY_JUDGE": "{secret}"}, _OF_JUDGES),
    Place(
        "a proxy before a pipeline",
        (*_PIPED, "pipeline.url=http://pipeline.invalid/answer"),
        {"HTTP_PROXY": _PROXY},
        (Failure.REFUSED_BY_PROXY, Failure.ECHO, Failure.ANSWERED, Failure.REFUSED),
    ),
    Place("HTTP_PROXY", _VIA_PROXY, {"HTTP_PROXY": _PROXY, "http_proxy": _PROXY}, _BY_PROXY),
    Place("ALL_PROXY", _VIA_PROXY, {"ALL_PROXY": _PROXY}, _BY_PROXY),
    Place(
        "HTTPS_PROXY before an https server",
        (*_VIA_PROXY, "llm.base_url=https://model.invalid/v1"),
        {"HTTPS_PROXY": _PROXY},
        _BY_PROXY,
    ),
    Place(
        "an unusable proxy", _VIA_PROXY, {"HTTP_PROXY": "http://me:{secret}/x@127.0.0.1:{port}"}, (Failure.UNUSABLE,)
    ),
    Place("a proxy without a scheme", _VIA_PROXY, {"HTTP_PROXY": "me:{secret}@127.0.0.1:{port}"}, (Failure.UNUSABLE,)),
    Place(
        "MLFLOW_TRACKING_PASSWORD",
        ("tracking.uri=http://127.0.0.1:{port}",),
        {
            "MLFLOW_TRACKING_USERNAME": "me",
            "MLFLOW_TRACKING_PASSWORD": "{secret}",
            "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
            "MLFLOW_HTTP_REQUEST_TIMEOUT": "2",
        },
        (Failure.REFUSED_KEY, Failure.ECHO, Failure.REFUSED),
    ),
    Place(
        "AWS_SECRET_ACCESS_KEY",
        ("run.store_dir=s3://bucket/store",),
        {
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "{secret}",
            "AWS_ENDPOINT_URL": _SERVER,
            "AWS_REGION": "eu-central-1",
        },
        (Failure.REFUSED_KEY, Failure.REFUSED, Failure.MALFORMED),
    ),
    Place(
        "the password of AWS_ENDPOINT_URL",
        ("run.store_dir=s3://bucket/store",),
        {
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "x",
            "AWS_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL": "http://me:{quoted}@127.0.0.1:{port}",
        },
        (Failure.REFUSED_KEY, Failure.REFUSED, Failure.MALFORMED),
    ),
    Place(
        "an unusable AWS_ENDPOINT_URL",
        ("run.store_dir=s3://bucket/store",),
        {"AWS_ENDPOINT_URL": "//me:{secret}@127.0.0.1"},
        (Failure.UNUSABLE,),
    ),
)
"""Places where a secret belongs. It must work, and appear nowhere."""

CONFIGURATION = (
    Place("userinfo of llm.base_url", (*_ASKED, *_NO_KEY, "llm.base_url=http://me:{quoted}@127.0.0.1:1/v1")),
    Place("the query of llm.base_url", (*_ASKED, *_NO_KEY, "llm.base_url='http://127.0.0.1:1/v1?api_key={quoted}'")),
    Place("the fragment of llm.base_url", (*_ASKED, *_NO_KEY, "llm.base_url='http://127.0.0.1:1/v1#token={quoted}'")),
    Place("userinfo of embedder.base_url", (*_EMBEDDED, "embedder.base_url=http://me:{quoted}@127.0.0.1:1/v1")),
    Place("userinfo of reranker.base_url", (*_RERANKED, "reranker.base_url=http://me:{quoted}@127.0.0.1:1/v1")),
    Place(
        "userinfo of vector_index.base_url",
        ("retriever=dense", "vector_index=qdrant", "vector_index.base_url=http://me:{quoted}@127.0.0.1:1"),
    ),
    Place("userinfo of pipeline.url", (*_PIPED, "pipeline.url=http://me:{quoted}@127.0.0.1:1/answer")),
    Place("the query of pipeline.url", (*_PIPED, "pipeline.url='http://127.0.0.1:1/answer?token={quoted}'")),
    Place("a key among pipeline.parameters", (*_PIPED, "+pipeline.parameters.api_key={quoted}")),
    Place("a key as pipeline.api_key_env", (*_PIPED, "pipeline.api_key_env={quoted}")),
    Place("a key as judge.llm.api_key_env", (*_JUDGED, "judge.llm.api_key_env={quoted}")),
    Place("userinfo of judge.llm.base_url", (*_JUDGED, "judge.llm.base_url=http://me:{quoted}@127.0.0.1:1/v1")),
    Place("userinfo of run.store_dir", ("run.store_dir=s3://me:{quoted}@bucket/store",)),
    Place("the query of run.store_dir", ("run.store_dir='s3://bucket/store?secret_access_key={quoted}'",)),
    Place("userinfo of tracking.uri", ("tracking.uri=http://me:{quoted}@127.0.0.1:1",)),
    Place("the query of tracking.uri", ("tracking.uri='postgresql://host/db?password={quoted}'",)),
    Place("dataset.documents", ("dataset=jsonl", "dataset.documents=https://me:{quoted}@host/docs")),
    Place("api_key in llm.extra_body", (*_ASKED, *_NO_KEY, """llm.extra_body='{"api_key":"{quoted}"}'""")),
    Place(
        "a header in llm.extra_body",
        (*_ASKED, *_NO_KEY, """llm.extra_body='{"extra_headers":{"Authorization":"Bearer {quoted}"}}'"""),
    ),
    Place("llm.extra_body without quotes", (*_ASKED, *_NO_KEY, """llm.extra_body={"api_key": "{quoted}"}""")),
    Place("llm.extra_body with a quote too few", (*_ASKED, *_NO_KEY, """llm.extra_body='{"api_key":"{quoted}"}""")),
    Place("a key as llm.api_key_env", (*_ASKED, "llm.api_key_env={quoted}")),
    Place("a key as embedder.api_key_env", (*_EMBEDDED, "embedder.api_key_env={quoted}")),
    Place("a field that is not there", (*_ASKED, "+llm.api_key={quoted}")),
    Place("a group that is not there", ("+my_secrets.password={quoted}",)),
    Place("the value of a variable in another field", ("experiment.name={quoted}",), {"MY_API_KEY": "{quoted}"}),
    Place("the value of a variable as a choice", ("retriever={quoted}",), {"MY_API_KEY": "{quoted}"}),
    Place(
        "an argument of llama_index",
        ("llm=llama_index", "llm.class_path=llama_index.core.llms.MockLLM", "+llm.arguments.api_key={quoted}"),
    ),
    Place(
        "an argument of vLLM",
        ("llm=vllm", "llm.model=m", "llm.revision=x", "llm.runtime_arguments='--api-key {quoted}'"),
    ),
    Place("hydra.job.env_set", ("+hydra.job.env_set.OPENAI_API_KEY={quoted}",)),
    Place("the setup of Slurm's jobs", ("executor=slurm", "executor.setup=['export HF_TOKEN={quoted}']")),
    Place(
        "a preset",
        ("--config-dir=presets", "+mine=here"),
        file='# @package _global_\nllm: {extra_body: \'{{"api_key": "{quoted}"}}\'}\n'.replace("{{", "{").replace(
            "}}", "}"
        ),
    ),
    Place(
        "a preset with the value of a variable",
        ("--config-dir=presets", "+mine=here"),
        {"MY_API_KEY": "{quoted}"},
        file="# @package _global_\nexperiment: {name: '{quoted}'}\n",
    ),
)
"""Places where no secret belongs. It must be rejected before any work, and appear nowhere."""

PLACES = (*ENVIRONMENT, *CONFIGURATION)

_SIGNS = "/:@#?%&+='\"!$~ ^<>()[]{},;"


def _of(letters: str, n: int) -> Callable[[random.Random], str]:
    return lambda chance: "".join(chance.choices(letters, k=n))


_HEADER = string.ascii_letters + string.digits + "-_.~+/="
_SHAPES: tuple[Callable[[random.Random], str], ...] = (
    lambda chance: "sk-" + _of(string.ascii_letters + string.digits, 32)(chance),
    _of(string.hexdigits.lower(), 32),
    _of(_HEADER, 40),
    lambda chance: "pw1" + _of(string.ascii_letters + string.digits, 9)(chance),
)
_PASSWORDS = (*_SHAPES, lambda chance: "p4" + _of(string.ascii_letters + _SIGNS, 18)(chance))


def random_secret(chance: random.Random, place: Place) -> str:
    """Return a secret as providers and people make them. A percent-encoded secret may contain any character."""
    texts = [*place.overrides, *(place.environment or {}).values(), place.file]
    is_quoted = any("{quoted}" in text for text in texts) and place not in CONFIGURATION
    return chance.choice(_PASSWORDS if is_quoted else _SHAPES)(chance)
