"""The type of values that are read from or written to JSON and YAML."""

from typing import Any

Json = Any  # mypy has recursive types, but every place that reads a value from one would need a cast
