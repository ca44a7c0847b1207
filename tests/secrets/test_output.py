"""Logs, warnings and tracebacks of a command hide secrets."""

import subprocess
import sys

CODE = """
import logging, os, threading, warnings
from components.secrets.output import mask_output
mask_output(); mask_output()
secret = os.environ["MY_API_KEY"]
logging.basicConfig()
logging.error("key %s", secret)
try:
    raise ValueError(secret)
except ValueError:
    logging.exception("failed")
warnings.warn(secret)
def raising(): raise RuntimeError(secret)
thread = threading.Thread(target=raising); thread.start(); thread.join()
logging.error("%d is wrong", "no number")
logging.error("too many", secret)
logging.error("%(name)s", {"key": secret})
class Textless:
    def __str__(self): raise AttributeError(secret)
    __repr__ = __str__
logging.error("%s", Textless())
class Closing:
    def __del__(self): raise OSError(secret)
Closing()
raise KeyError(secret)
"""


def test_process_output_shows_no_secret() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], env={"MY_API_KEY": "Quite-Secret-77", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Quite-Secret-77" not in done.stdout + done.stderr
    shown = [
        word in done.stderr
        for word in ("ERROR:root:key ***", "ValueError: ***", "UserWarning: ***", "RuntimeError: ***")
    ]
    assert shown == [True] * 4
    assert "KeyError: '***'" in done.stderr
    assert "Exception ignored in" in done.stderr
    assert "OSError: ***" in done.stderr
    assert "too many (invalid logging call with arguments ('***',))" in done.stderr
    assert "%d is wrong (invalid logging call with arguments ('no number',))" in done.stderr
