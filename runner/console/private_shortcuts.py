"""The switch for shortcuts through private parts of Hydra and MLflow.

A shortcut does what the library's public API does, in less time. `RAG_GRID_PLAIN=hydra,mlflow` turns them off, to find
out whether a new version of a library broke one. `make check-plain` runs all tests that way.
"""

import os

from components.errors import ConfigError

HYDRA, MLFLOW = "hydra", "mlflow"
VARIABLE = "RAG_GRID_PLAIN"


def may_use_private_parts(library: str) -> bool:
    """Return False for a library that the environment variable lists. Raises ConfigError for unknown names in it."""
    plain = [name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip()]
    if unknown := [name for name in plain if name not in (HYDRA, MLFLOW)]:
        raise ConfigError(f"{VARIABLE}: got {', '.join(unknown)}, expected {HYDRA}, {MLFLOW} or both")
    return library not in plain
