"""Reader of topic trees in YAML or JSON, in any of the common forms."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.errors import DataError
from components.json_value import Json
from components.limits import closest_name, expected_one_of
from components.testset.topics.tree import MAX_LEVELS, Leaf, depth_error, normalize_name

_FIELDS = ("name", "parent", "description")
_FORMS = (
    "a mapping such as {Banking: [Loans, Cards]}, a list of names, or a list of {name, parent} (docs/generation.md)"
)


def read_leaves(file: Path) -> list[Leaf]:
    """Return the leaves of a tree, in the file's order. The forms are

    - nested: mappings of names, lists of names, or either in the other; a string under a name is its description;
    - flat: a list of mappings with `name`, and optionally `parent` and `description`;
    - OmniEval's: {"topic_name", "sub_topics"}, whose root is not a topic.

    Raises DataError for a file that cannot be read, a repeated name, an unknown parent, a cycle, or too many levels.
    """
    tree = _parse(file)
    location = str(file)
    if isinstance(tree, Mapping) and "topic_name" in tree:
        return list(_read_omnieval(tree, (), location))
    if isinstance(tree, list) and tree and all(isinstance(item, Mapping) and "name" in item for item in tree):
        return list(_read_flat(tree, location))
    if isinstance(tree, Mapping | list) or tree is None:
        return list(_read_nested(tree or {}, (), location))
    raise DataError(f"{location}: got {type(tree).__name__}, expected {_FORMS}")


def _parse(file: Path) -> Json:
    readers = {".json": _read_json, ".yaml": _read_yaml, ".yml": _read_yaml}
    if file.suffix.lower() not in readers:
        raise DataError(f"{file}: got a file '{file.suffix}', expected a topic tree as .yaml, .yml or .json")
    try:
        return readers[file.suffix.lower()](file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise DataError(f"{file}: does not exist, expected a topic tree, or topics=auto") from error
    except (OSError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, not JSON, a key twice
        raise DataError(f"{file}: cannot be read as a topic tree: {error}. Correct the file.") from error


def _read_json(text: str) -> Json:
    return json.loads(text, object_pairs_hook=_to_mapping)


def _read_yaml(text: str) -> Json:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
        """Safe loader that rejects repeated keys."""

    def mapping(loader: Any, node: Any) -> Iterator[dict[object, Json]]:
        content: dict[object, Json] = {}
        yield content  # the mapping comes before its content, which may contain it
        loader.flatten_mapping(node)
        pairs = [(loader.construct_object(key, deep=True), loader.construct_object(value)) for key, value in node.value]
        content.update(_to_mapping(pairs))

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    try:
        return yaml.load(text, Loader)  # noqa: S506  # a loader that is safe
    except (yaml.YAMLError, TypeError) as error:  # TypeError: a key that is a list
        raise ValueError(error) from error


def _to_mapping(pairs: Sequence[tuple[object, Json]]) -> dict[object, Json]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name '{repeated}' occurs twice under one parent")
    return mapping


def _read_nested(value: Json, path: tuple[str, ...], location: str) -> Iterator[Leaf]:
    if len(path) > MAX_LEVELS:
        raise depth_error(path, location)
    if path and isinstance(value, str | None):
        yield Leaf(path, value or "")
    elif path and value in ({}, []):
        yield Leaf(path)
    elif isinstance(value, Mapping):
        for name, below in value.items():
            yield from _read_nested(below, (*path, normalize_name(name, location)), location)
    elif isinstance(value, list):
        for item in value:
            is_name = not isinstance(item, Mapping)
            yield from _read_nested({normalize_name(item, location): None} if is_name else item, path, location)
    else:
        raise DataError(f"{location}: got {value!r} below {' / '.join(path)}, expected topics: {_FORMS}")


def _read_omnieval(node: Json, path: tuple[str, ...], location: str) -> Iterator[Leaf]:
    if len(path) > MAX_LEVELS:
        raise depth_error(path, location)
    below = node.get("sub_topics") if isinstance(node, Mapping) else None
    if not isinstance(below, list):
        raise DataError(f"{location}: got {str(node)[:80]!r}, expected 'topic_name' and a list of 'sub_topics'")
    for child in below:
        if not isinstance(child, Mapping) or "topic_name" not in child:
            raise DataError(
                f"{location}: got {str(child)[:80]!r} among sub_topics, expected a mapping with 'topic_name'"
            )
        yield from _read_omnieval(child, (*path, normalize_name(child["topic_name"], location)), location)
    if path and not below:
        yield Leaf(path)


def _read_flat(items: Sequence[Mapping[str, Json]], location: str) -> Iterator[Leaf]:
    parents: dict[str, str | None] = {}
    for item in items:
        if unknown := [str(field) for field in item if field not in _FIELDS]:
            raise DataError(
                f"{location}: unknown field '{unknown[0]}' of {item['name']!r}{expected_one_of(unknown[0], _FIELDS)}"
            )
        name, parent = normalize_name(item["name"], location), item.get("parent")
        if name in parents:
            raise DataError(f"{location}: got the name '{name}' twice, expected names that identify a parent")
        parents[name] = None if parent in (None, "") else normalize_name(parent, location)
    inner = set(parents.values())
    paths = {name: _path(name, parents, location) for name in parents}
    for item, (name, path) in zip(items, paths.items(), strict=True):
        if name not in inner:
            yield Leaf(path, str(item.get("description") or ""))


def _path(name: str, parents: Mapping[str, str | None], location: str) -> tuple[str, ...]:
    """Return the names from the root down. Raises DataError for an unknown parent and for a cycle."""
    path = [name]
    while (above := parents[path[0]]) is not None:
        if above not in parents:
            matches = closest_name(above, parents)
            hint = f"; did you mean {matches}?" if matches else ". Add it, or leave it out."
            raise DataError(f"{location}: '{path[0]}' has the parent '{above}', which is not a topic{hint}")
        if above in path:
            cycle = " -> ".join([*path[: path.index(above) + 1][::-1], above])
            raise DataError(f"{location}: the parents of '{name}' form a cycle: {cycle}, expected a tree")
        path.insert(0, above)
    return tuple(path)
