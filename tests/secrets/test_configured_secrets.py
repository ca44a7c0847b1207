"""Secrets that somebody typed into the lines of a job."""

import pytest

from components.secrets.configured_secrets import describe_secret

NEVER = "x7Qm2f9LkT4vWz8RbN3c"


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("export OPENAI_API_KEY={}", "sets OPENAI_API_KEY"),
        ("module load cuda; export 'HF_TOKEN'='{}' OMP_NUM_THREADS=4", "sets HF_TOKEN"),
        ("OPENAI_API_KEY+={}", "sets OPENAI_API_KEY"),
        ("declare -x PGPASSWORD='$my {}'", "sets PGPASSWORD"),
        ("DB_PASS={} DB_USER=me", "sets DB_PASS"),
        ("export DB_PWD={}", "sets DB_PWD"),
        ("export KEY_PASSPHRASE=$'{}'", "sets KEY_PASSPHRASE"),
        ("export NPM_CONFIG__AUTH={}", "sets NPM_CONFIG__AUTH"),
        ("export HF_TOKEN=${{MINE:-{}}}", "sets HF_TOKEN"),
        ("export HF_TOKEN=$(echo {})", "sets HF_TOKEN"),
        ("export HF_TOKEN=$PREFIX-{}", "sets HF_TOKEN"),
        ("setenv OPENAI_API_KEY {}", "sets OPENAI_API_KEY"),
        ("printf -v OPENAI_API_KEY {}", "sets OPENAI_API_KEY"),
        ("read -r OPENAI_API_KEY <<< {}", "sets OPENAI_API_KEY"),
        ("login --token {}", "sets token"),
        ("login --api-key={}", "sets api-key"),
        ("ALL,AWS_SECRET_ACCESS_KEY={},HOME", "sets AWS_SECRET_ACCESS_KEY"),
        ("login hf_{}", "contains text that looks like a key"),
        ("X=sk-proj-{}", "contains text that looks like a key"),
        ("export AWS_ID=AKIAABCDEFGHIJKLMNOP", "contains text that looks like a key"),
        ("echo '-----BEGIN OPENSSH PRIVATE KEY-----' > id", "contains text that looks like a key"),
        ("export HTTPS_PROXY=http://me:{}@proxy:3128", "contains an address with a password"),
        ("curl -H 'Authorization: Bearer {}' https://server", "contains a header with a secret"),
    ],
)
def test_secrets_in_a_line_are_described_without_their_value(line: str, how: str) -> None:
    found = describe_secret(line.format(NEVER))
    assert found == how
    assert NEVER not in found


@pytest.mark.parametrize(
    "line",
    [
        "module load cuda",
        "export TOKENIZERS_PARALLELISM=false",
        "export MAX_TOKENS=512",
        "export RAY_AUTH_MODE=token",
        "export SSH_AUTH_SOCK=/run/agent.sock",
        "export OPENAI_API_KEY=$MY_KEY HF_TOKEN=${HF}",
        'export HF_TOKEN="$(cat ~/.cache/huggingface/token)"',
        "export HF_TOKEN=`cat ~/token`",
        "export HF_TOKEN=",
        "export HF_TOKEN_PATH=/home/me/token",
        "export GOOGLE_APPLICATION_CREDENTIALS=/home/me/service.json",
        "export PWD=/scratch OLDPWD=/home/me",
        "login --token $HF_TOKEN --yes",
        "login --password --yes",
        "export HTTPS_PROXY=http://me:$PROXY_PASSWORD@proxy:3128",
        "git clone ssh://git@server:22/repository",
        'curl -H "Authorization: Bearer $TOKEN" https://server',
        "source /opt/venv/bin/activate && export CUDA_VISIBLE_DEVICES=0,1",
    ],
)
def test_lines_without_secrets_report_no_secret(line: str) -> None:
    assert describe_secret(line) == ""
