"""Refusal of YAML files that a loader would misread, or could not hold in memory."""

import codecs

import yaml

_MAX_NESTING, _MAX_NODES, _MAX_NUMBER_CHARACTERS = 100, 1_000_000, 1000


def require_plain_yaml(content: bytes) -> None:
    """Raise ValueError for a byte-order mark, a single value, an alias within its own anchor, deep nesting, a number of
    thousands of digits, and aliases that stand for more than a million values. Raises yaml.YAMLError for a text that is
    not YAML.

    Hydra does not recognize a header after a byte-order mark, and copies all that an alias stands for.
    """
    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("it begins with a byte-order mark, which hides its header. Save it as UTF-8 without one.")
    nodes = _NodeCount()
    for event in yaml.parse(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        nodes.add(event)


class _NodeCount:
    """Number of nodes so far, with the copies that aliases stand for."""

    def __init__(self) -> None:
        self._n = 0
        self._sizes: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = []

    def add(self, event: yaml.Event) -> None:
        """Count an event of the parser. Raises ValueError for content that `require_plain_yaml` refuses."""
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self._open.pop()
            self._name(anchor, self._n - before)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open.append((event.anchor, self._n))
            self._n += 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in (anchor for anchor, _ in self._open):
                raise ValueError(f"the alias *{event.anchor} contains itself")
            self._n += self._sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            if not self._n and event.value:
                raise ValueError("it contains a single value, expected names with values")
            if (
                len(event.value) > _MAX_NUMBER_CHARACTERS
                and event.implicit[0]
                and event.value.lstrip("+-")[:1].isdigit()
            ):
                raise ValueError(f"a number of more than {_MAX_NUMBER_CHARACTERS:,} digits")
            self._n += 1
            self._name(event.anchor, 1)
        self._require_few()

    def _name(self, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self._sizes[anchor] = size

    def _require_few(self) -> None:
        if len(self._open) > _MAX_NESTING:
            raise ValueError(f"it is nested more than {_MAX_NESTING} levels deep")
        if self._n > _MAX_NODES:
            raise ValueError(f"its aliases stand for more than {_MAX_NODES:,} values")
