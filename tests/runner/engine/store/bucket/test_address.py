import importlib.util

import pytest

from runner.engine.store.bucket.address import address_mistakes, is_bucket
from tests.extras import skip_without


@pytest.mark.parametrize("address", ["s3://bucket/prefix", "s3://bucket", "gs://bucket/a/b", "az://account/container"])
def test_buckets(address: str) -> None:
    skip_without("obstore")
    assert is_bucket(address)
    assert address_mistakes(address) == []


def test_a_folder_is_no_bucket() -> None:
    assert not is_bucket("results/store")


@pytest.mark.parametrize(
    "address",
    ["s3://key:secret@bucket/prefix", "s3://secret@bucket", "az://account/container?sig=secret", "s3://bucket#secret"],
)
def test_credentials_are_refused_and_not_repeated(address: str) -> None:
    (mistake,) = address_mistakes(address)
    assert "AWS_ACCESS_KEY_ID" in mistake
    assert "secret" not in mistake


@pytest.mark.parametrize("address", ["http://host/bucket", "s3:///prefix", "s3://bucket/../other", "ftp://host"])
def test_what_is_no_bucket_is_said(address: str) -> None:
    (mistake,) = address_mistakes(address)
    assert "wanted" in mistake


def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    (mistake,) = address_mistakes("s3://bucket/prefix")
    assert "'obstore'" in mistake
    assert "[s3]" in mistake
