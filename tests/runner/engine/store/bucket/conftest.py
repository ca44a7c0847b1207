import uuid

import pytest

from tests.buckets import Bucket


@pytest.fixture
def address(bucket: Bucket) -> str:
    """Of a store that is not there yet."""
    return bucket.address(uuid.uuid4().hex)
