"""Checks of the hub's address and of the proxies in the environment."""

import pytest

from components.pretrained.hub_address import hub_problems
from components.pretrained.model_folder import model_problems

UNESCAPED = "http://app:kT4m/Zq8s@127.0.0.1:5"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "HF_ENDPOINT",
        "HF_HUB_OFFLINE",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (
            "HF_ENDPOINT",
            "the environment variable HF_ENDPOINT is not a usable address, expected one such as https://hugg",
        ),
        ("HTTPS_PROXY", "the environment's proxy (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY) has no usable address"),
    ],
)
def test_unreadable_addresses_of_the_hub_are_reported_before_a_model_is_loaded(
    name: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hub_problems() == []
    monkeypatch.setenv(name, UNESCAPED)
    (found,) = model_problems("owner/name", "0" * 40)
    assert found.startswith(problem)
    assert "kT4m" not in found
    assert "Zq8s" not in found
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert len(hub_problems()) == (name == "HF_ENDPOINT")


@pytest.mark.parametrize(
    "proxy",
    [
        "proxy.corp:3128",
        "socks5h://127.0.0.1:1080",
        "http://me@corp.com:pw@proxy:3128",
        "HTTP://PROXY:3128",
        "http://p:1 ",
    ],
)
def test_proxies_that_the_client_of_the_hub_reads_are_accepted(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    assert hub_problems() == []


def test_unused_unreadable_proxy_is_reported_because_the_client_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", UNESCAPED)
    monkeypatch.setenv("NO_PROXY", "huggingface.co")
    assert len(hub_problems()) == 1
    monkeypatch.setenv("NO_PROXY", "*")
    assert hub_problems() == []


def test_local_folders_need_no_hub(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", UNESCAPED)
    assert model_problems(str(tmp_path), "") == [f"model: {tmp_path} has no weights (*.safetensors or *.bin)"]
