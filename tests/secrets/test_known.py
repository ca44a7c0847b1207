"""Which values of the environment are secrets."""

import base64
import json
import time
from pathlib import Path

import pytest

from components.secrets.known import find_variables, mark_variable
from components.secrets.mask import mask_text, without_secrets

KEY = "Xk29dkfj3kdj29dk"
OTHER = "Qw8Er7Ty6Ui5Op4A"
PASSWORD = "s3nd-M@il"
PAIR = base64.b64encode(f"user:{PASSWORD}".encode()).decode()


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY2", "OPENAI_KEY1", "TOKEN1", "DB_PASSWORD2", "PASSWORDS", "DB_PASS_PROD", "DB_PWD_PROD", "DBPASS2",
        "TENCENTCLOUD_SECRETID", "SECRET_ID", "GITHUB_CREDS", "OPENAI_API_KEY_2",
    ],
)  # fmt: skip
def test_variable_with_a_telling_name_hides_its_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "kestrel-moss-42")
    assert without_secrets("it is kestrel-moss-42 here") == "it is *** here"


@pytest.mark.parametrize("name", ["QIANFAN_AK", "VOLC_SK", "APP_SIGNING"])
def test_ambiguous_variable_name_hides_only_a_random_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, KEY)
    assert without_secrets(f"it is {KEY} here") == "it is *** here"
    monkeypatch.setenv(name, "Slovak-translation-2024")
    assert without_secrets("it is Slovak-translation-2024 here") == "it is Slovak-translation-2024 here"


@pytest.mark.parametrize("name", ["SONAR_PROJECT_KEY", "LANGUAGE_TOKEN", "SERVICE_AUTH"])
@pytest.mark.parametrize("value", ["Harrowmere Transit", "Simplified Chinese", "中华人民共和国民法典第一千零七十七条"])
def test_words_in_a_key_variable_are_not_hidden(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert without_secrets(f"it is {value} here") == f"it is {value} here"


@pytest.mark.parametrize("name", ["MY_PASSWORD", "SSH_PASSPHRASE", "CLIENT_SECRET", "DB_PW"])
def test_words_in_a_password_variable_are_hidden(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "correct horse battery staple")
    assert without_secrets("it is correct horse battery staple here") == "it is *** here"


def test_mixed_case_word_in_a_key_variable_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "qpéJoosDoWert")
    assert without_secrets("it is qpéJoosDoWert here") == "it is *** here"


@pytest.mark.parametrize("value", ["/opt/no/such/key_1", "~/E49dKHkTRA", "data/keys/list1.txt", "kestrel and the moss"])
def test_value_of_a_marked_variable_is_hidden_in_any_shape(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.secrets.known._marked", set[str]())
    monkeypatch.setenv("MY_KEY", value)
    assert without_secrets(f"it is {value} here") == f"it is {value} here"
    mark_variable("MY_KEY")
    assert without_secrets(f"it is {value} here") == "it is *** here"


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("ELASTIC_HOSTS", "https://u:{0}@h,https://u2:{1}@h2", (PASSWORD, OTHER)),
        ("ELASTIC_HOSTS", '["https://u:{0}@h","https://u2:{1}@h2"]', (PASSWORD, OTHER)),
        ("GOPROXY", "https://u:{0}@a.example|https://u:{1}@b.example,direct", (PASSWORD, OTHER)),
        ("MY_TOKEN", "Bearer {0}", (KEY,)),
        ("MY_AUTH", "Token {0}", (KEY,)),
        ("MY_AUTH", "Basic {0}", (PAIR,)),
        ("OPENAI_API_KEYS", "{0},{1}", (KEY, OTHER)),
        ("OPENAI_KEYS", "first:{0};second:{1}", (KEY, OTHER)),
        ("OPENAI_API_KEYS", '["{0}", "{1}"]', (KEY, OTHER)),
        ("STORAGE_SAS", "?sv=2022-11-02&ss=b&sig={0}%3D", (KEY,)),
        ("AZURE_CREDENTIALS", '{{"clientId":"my-client-1","clientSecret":"{0}"}}', (KEY,)),
        ("REGISTRY", '{{"username":"u","password":"{0}"}}', (PASSWORD,)),
        ("DOCKER_AUTH_CONFIG", '{{"auths":{{"r.example":{{"auth":"{0}"}}}}}}', (PAIR,)),
        ("ODBC_STR", "Driver={{ODBC}};UID=sa;PWD={{pa;ss}}}}W0rd}};", ("pa;ss}W0rd",)),
        ("KAFKA_JAAS", 'PlainLoginModule required username="u" password="{0}";', (PASSWORD,)),
        ("MODEL_HEADERS", "X-Team: my-team-12, Authorization: Bearer {0}", (KEY,)),
        ("MODEL_HEADERS", '{{"X-Team": "my-team-12", "Authorization": "Bearer {0}"}}', (KEY,)),
        ("SLACK_URL", "https://hooks.slack.com/services/T0AB/B0CD/{0}", (KEY + OTHER,)),
        ("ALERT_URL", "https://discord.com/api/webhooks/1234567890/{0}", (KEY,)),
        ("http_proxy", "user:{0}@proxy:8080", (PASSWORD,)),
        ("API_KEYS", '{{"default":"{0}","eu":{{"b":"{1}"}}}}', (KEY, OTHER)),
        ("API_KEYS", "prod={0},test={1}", (KEY, OTHER)),
        ("SVC_URLS", "a=http://a:{0}@h1,b=http://b:{1}@h2", (PASSWORD, OTHER)),
        ("MY_AUTH", "Authorization: Bearer {0}", (KEY,)),
    ],
)
def test_secret_part_of_a_variable_is_hidden(
    name: str, value: str, secrets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value.format(*secrets))
    for secret in secrets:
        text = "at {} my-client-1, my-team-12, T0AB, r.example and username"
        assert without_secrets(text.format(secret)) == text.format("***")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MY_AUTH", f"Basic {PAIR}"),
        ("MY_AUTH", f"Basic {PAIR.rstrip('=')}"),
        ("MY_AUTH", f"Authorization: Basic {PAIR}"),
        ("MY_AUTH", f'{{"auth": "{PAIR}"}}'),
    ],
)
def test_password_in_base64_is_hidden(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert without_secrets(f"it is {PASSWORD} of user:{PASSWORD}") == "it is *** of ***"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIGNING_KEY", "$HOME/keys/cert1.pem"),
        ("SIGNING_KEY", r"%USERPROFILE%\keys\cert1.pfx"),
        ("SETTINGS", '{"name": "my-client-1", "path": "/opt/no/such/key_1", "tokens": 12345678}'),
        ("SETTINGS", "a=my-client-1&b=my-client-2"),
        ("ALERT_URL", "https://hooks.example.com/services/the-name-of-a-service"),
        ("MODEL_HEADERS", "X-Team=my-client-1"),
        ("API_KEYS", "[" * 100_000),
    ],
)
def test_harmless_part_of_a_variable_is_not_hidden(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    text = "my-client-1 my-client-2 cert1.pem 12345678 the-name-of-a-service /opt/no/such/key_1"
    for each in (text, json.dumps(text)):
        assert without_secrets(each) == each


def test_variables_are_found_by_their_values_in_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setenv("B_KEY", OTHER)
    assert list(find_variables(f"{KEY} and {OTHER}")) == ["A_KEY", "B_KEY"]
    assert list(find_variables("neither")) == []


@pytest.mark.parametrize("text", ["://" * 333_333, "://a:" * 200_000, "http://u:p/x" * 80_000])
def test_unterminated_addresses_take_linear_time(text: str) -> None:
    mask_text("warm")
    began = time.process_time()
    assert mask_text(text) == text
    assert time.process_time() - began < 1.5


def test_relative_path_of_an_existing_file_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "certs").mkdir()
    (tmp_path / "certs" / "server-key").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSL_KEY", "certs/server-key")
    assert without_secrets("see certs/server-key") == "see certs/server-key"


def test_short_token_that_names_the_working_directory_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "t3_aBcDeF" / "0" / "project"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CI_RUNNER_SHORT_TOKEN", "t3_aBcDeF")
    monkeypatch.setenv("CI_JOB_TOKEN", "t4_aBcDeF")
    assert without_secrets(f"{folder} t4_aBcDeF") == f"{folder} ***"
