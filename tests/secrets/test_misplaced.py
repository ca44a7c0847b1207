"""Secrets in a configuration are found, and not repeated."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.openai_server.access import key_problems, proxy_problems, url_problems
from components.secrets.configured_secrets import misplaced_in_override, misplaced_secrets, named_variables
from components.secrets.names import field_names_secret, is_variable_name, names_secret
from tests.secrets.test_mask import random_secret

NEVER = "x7Qm2f9LkT4vWz8RbN3c"
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"llm": {"extra_body": f'{{"api_key": "{NEVER}"}}'}}, "llm.extra_body.api_key"),
        ({"llm": {"extra_body": f'{{"a": [{{"Authorization": "{NEVER}"}}]}}'}}, "llm.extra_body.a.0.Authorization"),
        ({"llm": {"extra_headers": {"x-api-key": NEVER}}}, "llm.extra_headers.x-api-key"),
        ({"llm": {"arguments": {"openaiApiKey": NEVER}}}, "llm.arguments.openaiApiKey"),
        ({"llm": {"options": {"Cookie": NEVER}}}, "llm.options.Cookie"),
        ({"llm": {"api_key_env": NEVER}}, "llm.api_key_env"),
        ({"dataset": {"documents": f"https://me:{NEVER}@host/x"}}, "dataset.documents"),
        ({"dataset": {"path": f"https://host/x?sig={NEVER}"}}, "dataset.path"),
        ({"tracking": {"uri": f"mssql+pyodbc:///?odbc_connect=Driver%3Dx%3BUid%3Dme%3BPwd%3D{NEVER}"}}, "tracking.uri"),
        ({"tracking": {"uri": f"mssql+pyodbc://h/db?driver=x&UID=me&PWD={NEVER}"}}, "tracking.uri"),
        ({"run": {"store_dir": f"s3://me:{NEVER}@bucket"}}, "run.store_dir"),
        ({"llm": {"runtime_arguments": f"--tp 2 --api-key {NEVER}"}}, "llm.runtime_arguments"),
        ({"a": {"b": f"hf_{NEVER}"}}, "a.b"),
        ({"a": {f"hf_{NEVER}": 1}}, "a"),
        ({"retriever": {"parameters": {"token": "abc"}}}, "retriever.parameters.token"),
        ({"retriever": {"parameters": {"pwd": NEVER}}}, "retriever.parameters.pwd"),
        ({"pipeline": {"parameters": {"jwt": NEVER}}}, "pipeline.parameters.jwt"),
        ({"pipeline": {"parameters": {"auth_header": f"Token {NEVER}"}}}, "pipeline.parameters.auth_header"),
        ({"pipeline": {"parameters": {"password": 12345678}}}, "pipeline.parameters.password"),
        ({"llm": {"extra_body": f'{{"api_keys": ["{NEVER}"]}}'}}, "llm.extra_body.api_keys.0"),
        ({"llm": {"extra_body": f'{{"passcode": "{NEVER}"}}'}}, "llm.extra_body.passcode"),
        ({"llm": {"extra_body": f'{{"sessionid": "{NEVER}"}}'}}, "llm.extra_body.sessionid"),
        ({"llm": {"extra_body": f'{{"password": {{"value": "{NEVER}"}}}}'}}, "llm.extra_body.password.value"),
    ],
)
def test_misplaced_secret_is_named_by_its_place(config: Any, place: str) -> None:
    (problem,) = misplaced_secrets(config)
    assert problem.startswith(f"{place}: ")
    assert NEVER not in problem


@pytest.mark.parametrize(
    "config",
    [
        {"parameters": {"token": None, "pass": True, "auth": "basic", "n_tokens": 12345678, "key": "title"}},
        {"tracking": {"uri": "mssql+pyodbc://h/db?driver=x&Trusted_Connection=yes"}},
        {"parameters": {"metadata_keys": ["title", "date"], "stop_tokens": ["</s>"], "pad_token_id": 151643}},
    ],
)
def test_parameters_without_secrets_are_accepted(config: Any) -> None:
    assert list(misplaced_secrets(config)) == []


def test_value_of_a_secret_variable_is_refused_in_every_field(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    for _ in range(200):
        secret = random_secret(chance)
        if "://" in secret:
            continue
        monkeypatch.setenv("MY_API_KEY", secret)
        (problem,) = misplaced_secrets({"experiment": {"name": f"run {secret}"}})
        assert problem.startswith("experiment.name: contains the secret of the environment variable MY_API_KEY. ")
        assert secret not in problem


@pytest.mark.parametrize(
    "override",
    [
        f"+llm.api_key={NEVER}",
        f"llm.api_key_env={NEVER}",
        f'llm.extra_body={{"api_key": "{NEVER}"}}',
        f'llm.extra_body=\'{{"api_key":"{NEVER}"}}',
        f"+hydra.job.env_set.OPENAI_API_KEY={NEVER}",
        f"tracking.uri=https://me:{NEVER}@host",
        f"~sk-{NEVER}",
    ],
)
def test_override_with_a_secret_is_refused_without_repeating_it(override: str) -> None:
    problem = misplaced_in_override(override)
    assert problem
    assert NEVER not in problem


@pytest.mark.parametrize(
    "override",
    [
        "llm.api_key_env=OPENAI_API_KEY", "llm.api_key_env=''", "llm.api_key_env=", "context.max_tokens=8192",
        "llm.extra_body='{\"reasoning_effort\":\"low\"}'", "judge.llm.max_tokens_per_minute=200000", "top_k=2,8", "-m",
        "retriever.token_index={_target_: components.sparse_indexes.token_weights.TokenWeights}", "dataset.key=id",
        "executor.setup=['export HF_TOKEN=$(cat ~/.hf)']", "llm.base_url=http://localhost:8000/v1",
        # keys of records and tokens of vocabularies
        "dataset.text_key=body", "dataset.group_key=document_identifier", "prompt.sep_token='[SEP]'",
        "llm.pad_token='</s>'",
    ],
)  # fmt: skip
def test_ordinary_overrides_contain_no_secret(override: str) -> None:
    assert misplaced_in_override(override) == ""


def test_bundled_options_and_presets_contain_no_secret() -> None:
    files = [
        file for folder in ("conf", "sweeps", "runner/testset/conf") for file in (REPOSITORY / folder).rglob("*.yaml")
    ]
    assert len(files) > 200
    found = [(file, *misplaced_secrets(yaml.safe_load(file.read_text(encoding="utf-8")))) for file in files]
    assert [each for each in found if each[1:]] == []


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("OPENAI_API_KEY", True), ("apiKey", True), ("x-api-key", True), ("Authorization", True), ("PGPASSWORD", True),
        ("AWS_SECRET_ACCESS_KEY", True), ("client_secret", True), ("HF_TOKEN", True), ("X-Amz-Signature", True),
        ("api_key_env", False), ("TOKEN_FILE", False), ("TOKENIZERS_PARALLELISM", False), ("keyboard", False),
        ("author", False), ("PWD", False), ("SSH_AUTH_SOCK", False), ("OLDPWD", False), ("USERPWD", True),
        ("DBPASS", True), ("PGPASS", True), ("BYPASS", False), ("compass", False), ("DBPSWD", True),
        ("NEXUS_PSW", True), ("WIFI_PSK", True),
        ("HTTP_BASICAUTH", True), ("SERVICE_JWT_V2", True), ("JWT_ALGORITHM", False), ("JWT_FILE", False),
        ("JWT_REALM", False), ("JWT_USERNAME_CLAIM", False), ("HOST_PWD", False), ("BUILD_PWD", False),
        ("GOOGLE_SA_JSON", True), ("USA_JSON", False), ("DBPASS_FILE", False),
    ],
)  # fmt: skip
def test_secret_like_field_names_are_recognized(name: str, is_secret: bool) -> None:
    assert names_secret(name) is is_secret


@pytest.mark.parametrize("name", ["max_tokens", "token_index", "max_tokens_per_minute", "key", "pass"])
def test_fields_with_secret_like_names_are_accepted(name: str) -> None:
    assert not field_names_secret(name, "a-plain-word")


@pytest.mark.parametrize(
    ("text", "is_name"),
    [("OPENAI_API_KEY", True), ("KEY_2", True), ("sk-abc", False), (NEVER, False), ("hf_" + NEVER, False),
     ("AKIAABCDEFGHIJKLMNOP", False), ("A1B2C3D4E5F6", False), ("", False)],
)  # fmt: skip
def test_names_of_environment_variables_are_recognized(text: str, is_name: bool) -> None:
    assert is_variable_name(text) is is_name


def test_variables_named_by_fields_are_found_at_any_depth() -> None:
    config = {"llm": {"api_key_env": "A_KEY"}, "judge": [{"token_env": "B"}, {"x": {"other_env": ""}}], "n": 1}
    assert sorted(named_variables(config)) == ["A_KEY", "B"]


def test_key_in_place_of_a_variable_name_is_not_repeated() -> None:
    chance = random.Random(2)
    for _ in range(200):
        secret = random_secret(chance)
        (problem,) = key_problems(secret)
        assert secret not in problem


@pytest.mark.parametrize("proxy", ["me:{}@host:3128", "http://me:{}/x@host:3128", "socks5://me:{}@host", "http://:x{}"])
def test_unusable_proxy_is_refused_without_its_password(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy.format(NEVER))
    monkeypatch.setenv("no_proxy", "")
    (problem,) = proxy_problems("http://model.invalid/v1")
    assert NEVER not in problem
    monkeypatch.setenv("http_proxy", f"http://me:{NEVER}@host:3128")
    assert proxy_problems("http://model.invalid/v1") == []


def test_unusable_address_error_hides_its_secret() -> None:
    (problem,) = url_problems(f"ftp://hf_{NEVER}/v1")
    assert NEVER not in problem


def test_model_name_that_begins_like_a_key_is_accepted() -> None:
    assert misplaced_in_override("llm.model=hf_multilingual_embedder_large") == ""
