import importlib.util

import pytest

from runner.engine.store.bucket.address import address_problems, is_bucket
from tests.extras import skip_without


@pytest.mark.parametrize("address", ["s3://bucket/prefix", "s3://bucket", "gs://bucket/a/b", "az://account/container"])
def test_bucket_addresses_are_recognized(address: str) -> None:
    skip_without("obstore")
    assert is_bucket(address)
    assert address_problems(address) == []


def test_folder_is_not_taken_for_a_bucket() -> None:
    assert not is_bucket("results/store")


@pytest.mark.parametrize(
    "address",
    ["s3://key:secret@bucket/prefix", "s3://secret@bucket", "az://account/container?sig=secret", "s3://bucket#secret"],
)
def test_bucket_address_with_credentials_is_refused_and_hidden(address: str) -> None:
    (problem,) = address_problems(address)
    assert "AWS_ACCESS_KEY_ID" in problem
    assert "secret" not in problem


@pytest.mark.parametrize("address", ["http://host/bucket", "s3:///prefix", "s3://bucket/../other", "ftp://host"])
def test_invalid_bucket_address_is_reported(address: str) -> None:
    (problem,) = address_problems(address)
    assert "expected" in problem


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("s3:/bucket/prefix", "s3://bucket/prefix"),
        ("s3:bucket", "s3://bucket"),
        ("gs:/bucket", "gs://bucket"),
        ("file:/bucket", "s3://bucket"),
    ],
)
def test_bucket_address_with_a_missing_slash_is_rejected(typed: str, meant: str) -> None:
    (problem,) = address_problems(typed)
    assert problem == f"got {typed!r}, expected a folder, or a bucket: {meant} (a folder of that name is ./{typed})"
    assert address_problems(f"./{typed}") == []


@pytest.mark.parametrize("folder", ["C:/store", "12:30/store", "run:1/store", "/s3:/bucket"])
def test_folder_address_may_contain_colons(folder: str) -> None:
    assert address_problems(folder) == []


@pytest.mark.parametrize("endpoint", ["127.0.0.1:9000", "minio:9000", "https:/host", "http://"])
def test_invalid_bucket_endpoint_variable_is_reported(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    skip_without("obstore")
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    (problem,) = address_problems("s3://bucket/prefix")
    assert problem.startswith(
        "the environment variable AWS_ENDPOINT_URL holds no URL of a service, expected http://HOST"
    )
    assert address_problems("gs://bucket/prefix") == []


def test_missing_obstore_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    (problem,) = address_problems("s3://bucket/prefix")
    assert "'obstore'" in problem
    assert "[s3]" in problem
