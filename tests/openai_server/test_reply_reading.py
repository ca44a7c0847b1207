"""Reading the parts of a reply."""

import pytest

from components.openai_server.reply_reading import get_objects
from components.openai_server.server_errors import Malformed


@pytest.mark.parametrize("name", ["choices", "data", "results"])
def test_error_beside_results_makes_a_reply_malformed(name: str) -> None:
    reply = {name: [{"index": 0}]}
    assert get_objects({**reply, "error": None}, name) == [{"index": 0}]
    with pytest.raises(Malformed, match="the provider failed"):
        get_objects({**reply, "error": {"message": "the provider failed"}}, name)
