"""A server that misbehaves three times in ten, as servers do, and a process that is killed several times.

The full size is `python -m benchmarks chaos`, which says what "paid twice" means.
"""

from pathlib import Path

from benchmarks.chaos import endure
from benchmarks.chat_endpoint import Behaviour


def test_chaotic_server_loses_mixes_up_and_double_charges_no_reply(tmp_path: Path) -> None:
    behaviour = Behaviour(delay_s=0.005, chaos=0.3, hang_s=1.0, storm_s=0.003)
    endured = endure(tmp_path, n=240, n_kills=1, concurrency=24, behaviour=behaviour)
    assert (endured.n_wrong, endured.n_paid_twice) == (0, 0)
    assert endured.n_failed > 40
    assert 0 <= endured.n_spent - endured.n_asked <= 24, "but those that a kill kept from being sent"
    assert endured.n_lost_to_kills <= 3 * 24
