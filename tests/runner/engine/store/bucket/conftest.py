import uuid

import pytest

from tests.buckets import Bucket


@pytest.fixture
def address(bucket: Bucket) -> str:
    """The address of a store that does not exist yet."""
    return bucket.address(uuid.uuid4().hex)
