"""The tests. Components that their stages use are in `top_level/`, which goes on the path here.

A component's code is its whole top-level package. Were it `tests`, each worker process would read and parse all tests.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "top_level"))
