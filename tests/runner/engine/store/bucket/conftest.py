"""A bucket for all tests of a module, each in a prefix of its own."""

import gc
import uuid
from collections.abc import Iterator

import pytest

from tests.buckets import Bucket, served_bucket
from tests.extras import skip_without


@pytest.fixture(scope="module")
def served() -> Iterator[Bucket]:
    skip_without("obstore", "moto")
    with served_bucket() as bucket:
        yield bucket


@pytest.fixture
def bucket(served: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """The environment of this process is that of the bucket."""
    for name, value in served.environment.items():
        monkeypatch.setenv(name, value)
    gc.collect()  # the stores of the test before this one take their leave
    served.requests.clear()
    return served


@pytest.fixture
def address(bucket: Bucket) -> str:
    """Of a store that is not there yet."""
    return bucket.address(uuid.uuid4().hex)
