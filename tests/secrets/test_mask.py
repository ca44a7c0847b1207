"""The mask hides every secret in every encoding, and changes nothing else."""

import base64
import html
import json
import random
import string
import time
from urllib.parse import quote, quote_plus

import pytest

from components.openai_server.reply_reading import get_text, parse_body
from components.openai_server.server_errors import Malformed, format_preview
from components.records import Answer, AnswerState
from components.secrets.known import mark_variable
from components.secrets.mask import current_mask, join_masked, mask_text, masked_values, shorten_masked, without_secrets
from components.secrets.names import may_be_secret
from components.text.thoughts import split_thoughts
from runner.engine.checked_answers import safe_answer

_LETTERS = string.ascii_letters + string.digits + "-_.~+/=:@#?%&'\"\\!$é好 ^<>()[]{},;"
_N = 300

ENCODINGS = {
    "plain": lambda secret: secret,
    "percent": lambda secret: quote(secret, safe=""),
    "percent in small letters": lambda secret: quote(secret, safe="").lower() if secret.islower() else secret,
    "plus": quote_plus,
    "JSON": json.dumps,
    "JSON in JSON": lambda secret: json.dumps({"a": json.dumps({"b": secret})}),
    "JSON with all letters": lambda secret: json.dumps(secret, ensure_ascii=False),
    "repr": lambda secret: repr({"key": secret}),
    "repr of a repr": lambda secret: repr([repr(secret)]),
    "repr of bytes": lambda secret: repr(secret.encode()),
    "HTML": html.escape,
    "percent twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "percent in a password": lambda secret: quote(secret, safe="!$&'()*+,;="),
    "JSON of Go": lambda secret: (
        json.dumps(secret, ensure_ascii=False).replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
    ),
    "JSON in HTML": lambda secret: html.escape(json.dumps(secret)),
    "XML": lambda secret: html.escape(secret).replace("&#x27;", "&apos;"),
    "hexadecimal": lambda secret: secret.encode().hex(),
    "hexadecimal in capitals": lambda secret: secret.encode().hex().upper(),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "a pair in base64": lambda secret: base64.b64encode(f"user:{secret}".encode()).decode(),
    "a longer text in base64": lambda secret: base64.b64encode(f"xy {secret} and more".encode()).decode(),
    "base64 for addresses": lambda secret: base64.urlsafe_b64encode(f"u:{secret}".encode()).decode(),
}


def random_secret(chance: random.Random) -> str:
    while not may_be_secret(secret := "".join(chance.choices(_LETTERS, k=chance.randint(12, 48))).strip()):
        pass
    return secret


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encoded_secrets_in_environment_variables_are_hidden(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(encoding)
    for _ in range(_N):
        secret = random_secret(chance)
        if "://" in secret:
            continue
        monkeypatch.setenv("MY_API_KEY", secret)
        text = f"before {ENCODINGS[encoding](secret)} behind"
        for safe in (mask_text(text), without_secrets(text)):
            assert "***" in safe, (secret, safe)
            assert secret not in safe
            assert ENCODINGS[encoding](secret) not in safe
            assert safe.startswith("before ")
            assert safe.endswith("behind")


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "AWS_ENDPOINT_URL", "MLFLOW_TRACKING_URI", "ANY_NAME"])
def test_password_in_an_address_variable_is_hidden(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(name)
    for _ in range(_N):
        password = random_secret(chance).replace(" ", "x")
        for written in (quote(password, safe=""), password):
            address = f"http://me:{written}@proxy:3128"
            monkeypatch.setenv(name, address)
            pair = base64.b64encode(f"me:{password}".encode()).decode()
            safe = mask_text(f"407 for {address} and {password} and Basic {pair} and {quote(password, safe='')}")
            assert password not in safe
            assert pair not in safe
            assert quote(password, safe="") not in safe


def test_rest_of_a_password_after_an_unescaped_sign_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that ends the password at the first @ quotes the rest as a part of the host."""
    assert mask_text("mysql://me:a@Winter2025!Dev@h/x") == "mysql://***@h/x"
    monkeypatch.setenv("DB_URL", "postgresql://rag:Summer@Zq8s2026!Prod@db.example/rag")
    for safe in map(mask_text, ("no host 'Zq8s2026!Prod@db.example'", "no host Zq8s2026!Prod")):
        assert "Zq8s" not in safe


@pytest.mark.parametrize("sign", "@:/?#,\\ ")
def test_each_part_of_a_password_with_unescaped_signs_is_hidden(sign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://app:kT4mX9qB{sign}Zq8sVw2026@127.0.0.1:5")
    safe = mask_text("Invalid port: 'kT4mX9qB'; failed to resolve host 'Zq8sVw2026'")
    assert safe == "Invalid port: '***'; failed to resolve host '***'"


@pytest.mark.parametrize(
    "addresses",
    [
        "https://me:S3cr3tPw9x@es-node-1.internal:9200,https://me:S3cr3tPw9x@es-node-2.internal:9200",
        "redis://:S3cr3tPw9x@es-node-1.internal:6379/0;redis://:S3cr3tPw9x@es-node-2.internal:6379/0",
        "postgresql://app:S3cr3tPw9x@es-node-1.internal:5432/es-node-2.internal?application_name=me@laptop",
        "git+https://oauth2:S3cr3tPw9x@es-node-1.internal/team/es-node-2.internal@main",
        "kafka://es-node-1.internal:9092,es-node-2.internal:9092/topic@x",
        '["https://u:S3cr3tPw9x@es-node-1.internal/a","https://u:S3cr3tPw9x@es-node-2.internal/b"]',
    ],
)
def test_hosts_of_addresses_are_not_hidden(addresses: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_URL", addresses)
    assert mask_text("es-node-1.internal and es-node-2.internal") == "es-node-1.internal and es-node-2.internal"
    if "S3cr3tPw9x" in addresses:
        assert mask_text("got S3cr3tPw9x") == "got ***"


def test_path_with_an_at_sign_is_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_URL", "http://localhost:8080/models/Qwen-2.5-Instruct@main")
    assert mask_text("model Qwen-2.5-Instruct") == "model Qwen-2.5-Instruct"


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("at http://u:p@host/x", "at http://***@host/x"),
        ("at http://token@host/x", "at http://***@host/x"),
        ("at http://u:pa/ss@host:80/", "at http://***@host:80/"),
        ("http://h/x?api_key=abc&n=1#token=q", "http://h/x?api_key=***&n=1#token=***"),
        ("{'Authorization': 'Bearer abc123def456'}", "{'Authorization': 'Bearer ***'}"),
        ("Authorization: Basic bWU6cHc=", "Authorization: Basic ***"),
        ("got sk-1234567890abcdefghij", "got ***"),
        ('llm.extra_body={"api_key":"abcd1234efgh"}', 'llm.extra_body={"api_key":"***"}'),
        ("llm.api_key_env=Abcdefgh1!", "llm.api_key_env=***"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nx", "***\nx"),
    ],
)
def test_text_that_looks_secret_is_hidden_only_in_messages(text: str, safe: str) -> None:
    assert mask_text(text) == safe
    assert mask_text(safe) == safe
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:8000/v1 refuses: me@example.org",
        "see https://medium.com/@user/post and https://host:8443/a?b=c#d",
        "max_new_tokens=1024 batch_tokens=16384 tokens_per_minute=2000000",
        "llm.api_key_env=OPENAI_API_KEY api_key: is empty; Basic understanding of tokens: none",
        "export HF_TOKEN=$MY_TOKEN_1234567890",
        '{"key": "id", "token": "word"}',
        "the keyboard, a monkey and the key: 12345678",
        "Key 'handlers' is not in struct\n    full_key: hydra.job_logging.root.handlers",
    ],
)
def test_messages_without_a_secret_are_unchanged(text: str) -> None:
    assert mask_text(text) == text


def test_answers_without_a_secret_are_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a secret of the environment changes an answer, not its words, addresses or keys."""
    for name, value in {
        "OPENAI_API_KEY": "EMPTY", "VLLM_API_KEY": "token-abc123", "A_KEY": "not-needed", "B_KEY": "12345678",
        "C_TOKEN": "password", "D_SECRET": "true", "MY_PASSWORD": "aaaaaaaaaaaa", "SSH_KEY_DIR": "/home/me/Keys1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    mask = current_mask()
    chance = random.Random(5)
    words = ["EMPTY", "token-abc123", "not-needed", "12345678", "password", "true", "aaaaaaaaaaaa", "/home/me/Keys1",
             "https://u:p@h/?key=x", "Bearer abc12345678", "api_key='hunter2hunter2'", "答案", "is"]  # fmt: skip
    for _ in range(2000):
        text = " ".join(chance.choices(words, k=20))
        assert mask.hide_known(text) == text


def test_variable_marked_as_a_key_is_secret_despite_a_plain_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_MODEL_ACCESS", "Quite-Secret-77")
    assert mask_text("got Quite-Secret-77") == "got Quite-Secret-77"
    mark_variable("MY_MODEL_ACCESS")
    assert mask_text("got Quite-Secret-77") == "got ***"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        (
            "STORAGE_CONNECTION_STRING",
            "AccountName=my-account-1;AccountKey={};EndpointSuffix=x.net",
            "kX9/Ab+cD/eF1gH2iJ==",
        ),
        (
            "BUS_CONN_STR",
            "Endpoint=sb://x.net/;SharedAccessKeyName=Root-Manage-1;SharedAccessKey={}",
            "Ab3+xyz/01234567=",
        ),
        ("ConnectionStrings__Default", "Server=tcp:my-server,1433;Pwd={}", "Secret-1234"),
        ("SQL_DSN", 'Server=my-server-1;Password="{}";Encrypt=true', "p;w 1234567"),
        ("ODBC_DSN", "Driver=x;PWD={{{}}};", "a;b12345678"),
        ("PG_DSN", "host=my-server-1 password={} sslmode=require", "abcd1234E,5"),
        ("MYSQL_DSN", "me:{}@tcp(my-server-1:3306)/x", "Pa$$w0rd1"),
        ("REDIS_CONNECTIONSTRING", "my-server-1:6380,password={},ssl=True", "Abc123def456="),
        ("ANY_NAME", "jdbc:sqlserver://my-server-1:1433;user=me;password={}", "Abc12345"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team={},x-other=1", "abcd1234EFGH5678"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "Authorization=Bearer%20{}", "abcd1234EFGH5678"),
    ],
)
def test_password_in_a_connection_string_is_hidden(
    name: str, value: str, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value.format(secret))
    text = "at {} my-server-1, my-account-1, Root-Manage-1 and sslmode=require"
    assert without_secrets(text.format(secret)) == text.format("***")


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        (
            "BUILD_REPOSITORY_URI",
            "https://ContosoAnalytics@dev.azure.com/ContosoAnalytics/_git/rag",
            "ContosoAnalytics",
        ),
        ("DOCKER_HOST", "ssh://abc12345@build-7", "abc12345"),
        ("PGVECTOR_DSN", "postgresql://svc-rag-prod01@localhost/rag", "svc-rag-prod01"),
    ],
)
def test_user_without_a_password_is_not_hidden(
    name: str, value: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert without_secrets(f"/home/{word}/rag") == f"/home/{word}/rag"
    assert without_secrets(f"{word} grew") == f"{word} grew"


@pytest.mark.parametrize("user", ["3e8b1c9d5a7f4e2b", "3e8b1c9d5a7f4e2b:", "glpat-abcdefghij1234567890"])
def test_token_as_a_user_without_a_password_is_hidden(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_REMOTE", f"https://{user}@code.example/rag.git")
    assert user.rstrip(":") not in without_secrets(f"it is {user.rstrip(':')} here")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\n", " "])
def test_multi_line_key_is_hidden_in_every_wrapping(line_end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(line_end)
    body = ["".join(chance.choices(string.ascii_letters + string.digits + "+/", k=64)) for _ in range(3)]
    monkeypatch.setenv(
        "MY_PRIVATE_KEY", line_end.join(["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"])
    )
    for text in ("\n    ".join(body), "\r\n".join(body), "\n> ".join(body), "".join(body), body[1], json.dumps(body)):
        for safe in (mask_text(text), without_secrets(text)):
            assert "***" in safe
            assert not any(line in safe for line in body)


def test_text_is_masked_before_it_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "Abcdefgh12345678")
    assert shorten_masked("12345 Abcdefgh12345678", 15) == "12345 ***"


def test_mask_hides_secrets_in_json_at_every_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", 'Abc"defgh12345678')
    value = {"a": [{"b": 'x Abc"defgh12345678'}, 3, None], 'Abc"defgh12345678': True}
    assert masked_values(value) == {"a": [{"b": "x ***"}, 3, None], "***": True}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKEN_ENDPOINT", "/oauth2/v2.0/token"), ("TOKEN_ENDPOINT", "identity-service"),
        ("STOP_TOKENS", "Observation:"), ("STOP_TOKENS", "<|im_end|>,</s>"), ("MAX_TOKENS", "100000000000"),
        ("RENDER_PASS", "forward_shading_pass"), ("JWT_ISSUER", "accounts.example.com"),
        ("TOKENIZERS_PARALLELISM", "false"), ("PASSAGE_KEYS", "title-and-body-text"), ("PASSAGE_TOKENS", "4096"),
        ("PASSAGE_PREFIX", "passage: of the text"), ("KEYBOARD", "us-international"),
        ("KEY_MAPPING", "caps_lock:escape"), ("PASSWORD_POLICY", "at-least-12-characters"),
        ("MY_KEY", "3.14159265358979"), ("MY_KEY", "1.23456e-08"), ("MY_KEY", "understanding"), ("MY_KEY", "true"),
        ("MY_KEY", "/opt/no/such/key_1"), ("MY_KEY", "data/keys/list1.txt"), ("MY_KEY", "~/Keys1/b"),
        ("MY_KEY", r"C:\Users\me\key1"), ("GIT_SHA", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"),
    ],
)  # fmt: skip
def test_ordinary_variable_value_is_not_hidden(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    for text in (f"it is {value}.", json.dumps([f"{value} \n 100%"])):
        assert without_secrets(text) == text


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("STOP_TOKENS", "{}", "Xk29dkfj3kdj29dk"),
        ("RENDER_PASS", "{}", "Xk29dkfj3kdj29dk"),
        ("API_TOKENS", "{}", "correct-horse-battery"),
        ("TOKEN_SECRET", "{}", "correct-horse-battery"),
        ("MY_MODEL", "{}", "sk-proj9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0"),
        ("RUN_COMMAND", "curl -H 'Bearer {}' x", "hf_aB3dE5gH7jK9mN1pQ3sT5vW7"),
        ("MY_API_KEY", "'{}'", "sk-proj9Qw8Er7Ty6"),
        ("MY_API_KEY", '"{}"', "Ab3$xY9!k"),
        ("AWS_SECRET_ACCESS_KEY", "{}", "/x9Ab/cDeF1gH2iJ3kL4mN5oP6qR7sT8uV9wX0zz"),
        ("MY_KEY", "{}", "/Passw0rd"),
    ],
)
def test_key_in_an_oddly_shaped_variable_is_hidden(
    name: str, value: str, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value.format(secret))
    assert without_secrets(f"it is {secret} here") == "it is *** here"


def test_secret_split_over_reply_parts_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "sk-Ab12Cd34Ef", "56Gh78Ij90Kl"
    monkeypatch.setenv("MY_API_KEY", first + second)
    parts = [{"type": "text", "text": f"so {first}"}, {"type": "text", "text": f"{second} yes"}]
    with pytest.raises(Malformed, match=r"message.content is \*\*\*, expected a string"):
        get_text({"message": {"content": parts}}, "message", "content")
    streamed = "\n\n".join(
        f"data: {json.dumps({'choices': [{'delta': {'content': each}}]})}" for each in (first, second)
    )
    with pytest.raises(Malformed) as streaming:
        parse_body(streamed.encode())
    for text in (
        format_preview(streamed),
        str(streaming.value),
        format_preview({"logprobs": [{"token": first}, {"token": second}]}),
    ):
        assert text == "***"
    assert format_preview([{"text": first}, {"text": "other"}, {"title": second}]) != "***"
    assert join_masked([f"so {first}", f"{second} yes"], "\n") == "so *** yes"
    assert join_masked([f"so {first}{second}", "yes"], "\n") == f"so {first}{second}\nyes"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_key_in_a_body_of_any_encoding_is_hidden(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-Ab12Cd34Ef56Gh78Ij90Kl")
    body = "no such key: sk-Ab12Cd34Ef56Gh78Ij90Kl"
    assert format_preview(body.encode(encoding)).removeprefix("\ufeff") == "no such key: ***"
    with pytest.raises(Malformed) as refused:
        parse_body(body.encode(encoding))
    assert "sk-" not in str(refused.value).replace("\0", "")


@pytest.mark.parametrize("tag", ["</think>", "<think>"])
def test_key_divided_by_a_thoughts_tag_is_hidden(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-Ab12Cd34Ef56Gh78Ij90Kl"
    monkeypatch.setenv("MY_API_KEY", key)
    mask = current_mask()
    for text, left in ((f"{key} a sk-Ab12Cd34{tag}Ef56Gh78Ij90Kl b", ("*** a ***", "*** b")), (f"c{tag}d", ("c", "d"))):
        thoughts, answer = split_thoughts(text)
        safe = safe_answer(Answer("q", AnswerState.OK, answer, thoughts=thoughts), mask)
        assert (safe.thoughts, safe.text) == (left if tag == "</think>" else left[::-1])


@pytest.mark.parametrize(
    "text",
    ["a" * 10**6 + "=", "http://" * 10**5, "http://u:p/" * 50_000, "eyJ-" * 16_000, "=sk-" * 10**5, '"' * 10**6],
    ids=["one word", "schemes", "addresses", "tokens", "keys", "quotes"],
)
def test_masking_takes_linear_time(text: str) -> None:
    mask_text("warm")
    began = time.process_time()
    mask_text(text)
    assert time.process_time() - began < 20
