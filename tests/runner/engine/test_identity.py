from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from components.embedders.sentence_transformers import SentenceTransformers
from components.errors import ComponentError
from components.fields import added_later, runtime_only
from components.llms.transformers_chat import TransformersChat
from runner.engine.identity import describe, hash_description, required_models


class Order(StrEnum):
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class Part:
    size: int = 1

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class Whole:
    part: Part = field(default_factory=Part)
    share: float = 0.5
    order: Order = Order.UP
    names: tuple[str, ...] = ("a", "b")
    batch_size: int = runtime_only(8, "only how many at once")

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class Twin(Whole):
    """The same fields under another name."""


def key(value: object) -> str:
    return hash_description(describe(value))


def test_equal_components_have_equal_keys() -> None:
    assert key(Whole()) == key(Whole(part=Part(1), share=0.5))


@pytest.mark.parametrize(
    "changes",
    [{"part": Part(2)}, {"share": 0.25}, {"order": Order.DOWN}, {"names": ("b", "a")}, {"names": ("ab",)}],
    ids=lambda changes: next(iter(changes)),
)
def test_component_key_depends_on_every_field(changes: dict[str, Any]) -> None:
    assert key(replace(Whole(), **changes)) != key(Whole())


def test_runtime_only_fields_keep_the_component_key() -> None:
    assert key(Whole(batch_size=64)) == key(Whole())


@dataclass(frozen=True)
class Grown:
    """The same class with one more field."""

    size: int = 1
    margin: int = added_later(0)

    version: ClassVar[int] = 1


def test_new_field_with_its_default_keeps_the_component_key() -> None:
    described = describe(Grown())
    assert isinstance(described, dict)
    assert {name for name in described if name.startswith("field")} == {"field size"}
    assert key(Grown(margin=1)) not in (key(Grown()), key(Grown(margin=2)))


def test_component_class_changes_the_key() -> None:
    assert key(Twin()) != key(Whole())


def test_component_version_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(Whole())
    monkeypatch.setattr(Part, "version", 2)
    assert key(Whole()) != before


@dataclass(frozen=True)
class OwnVersion(SentenceTransformers):
    """A user's class whose version hides the version of its base class."""

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class NoVersion(SentenceTransformers):
    pass


@pytest.mark.parametrize("cls", [OwnVersion, NoVersion])
def test_version_of_our_base_changes_the_key_of_a_users_class(
    cls: type[SentenceTransformers], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(cls("a-model", "main"))
    monkeypatch.setattr(SentenceTransformers, "version", SentenceTransformers.version + 1)
    assert key(cls("a-model", "main")) != before


@pytest.mark.parametrize("other", [1, "1", 1.5, None, False, [True], {"True": 1}])
def test_component_key_distinguishes_kinds_of_values(other: object) -> None:
    assert key(other) != key(True)


def test_mapping_order_changes_the_component_key() -> None:
    assert key({"a": 1, "b": 2}) != key({"b": 2, "a": 1})
    assert key({"a": 1}) != key([["a", 1]])


def test_component_key_hashes_floats_in_full_precision() -> None:
    assert key(0.1 + 0.2) != key(0.3)
    assert key(-0.0) == key(0.0) != key(-1e-300)


def test_component_key_equals_its_recorded_value() -> None:
    assert key({"share": 0.1, "name": "块", "sizes": (64, 128), "order": Order.UP}) == (
        "c37f0a3bd5040dcf4475cc3f8f62ecceeb792d099f7644f2fe8140752a31c56c"
    )


@pytest.mark.parametrize("make", [lambda: {1, 2}, object, lambda: Whole], ids=["set", "object", "class"])
def test_values_without_a_canonical_form_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="no canonical form"):
        describe(make())


def test_named_fields_can_be_left_out_of_a_description() -> None:
    assert describe(Whole(share=0.25), without=["share"]) == describe(Whole(), without=["share"])
    assert describe(Whole(share=0.25), without=["order"]) != describe(Whole(), without=["order"])


@dataclass(frozen=True)
class Model:
    model: str
    revision: str = ""


@dataclass(frozen=True)
class Holder:
    parts: tuple[object, ...]


def test_models_are_found_at_any_depth_of_a_component() -> None:
    large = required_models(Model("large"))
    assert len(large) == 1
    assert required_models(Holder((Part(), Holder((Model("large"),))))) == large
    assert required_models({"judge": Model("large"), "other": Model("small")}) == large | required_models(
        Model("small")
    )
    assert required_models(Model("large", revision="2")) != large
    assert required_models(Part()) == required_models(Model("")) == frozenset()


class TestModelFolders:
    """Only the content of a model folder counts, not its path."""

    def embedder(self, folder: Path, weights: str) -> SentenceTransformers:
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_text(weights)
        return SentenceTransformers(model=str(folder), revision="")

    def test_folders_with_equal_content_are_one_model(self, tmp_path: Path) -> None:
        here, there = self.embedder(tmp_path / "here", "1"), self.embedder(tmp_path / "there", "1")
        assert key(here) == key(there)

    def test_folders_with_different_content_are_different_models(self, tmp_path: Path) -> None:
        assert key(self.embedder(tmp_path / "here", "1")) != key(self.embedder(tmp_path / "there", "2"))

    def test_fields_beside_the_model_folder_still_change_the_key(self, tmp_path: Path) -> None:
        here = self.embedder(tmp_path / "here", "1")
        assert key(here) != key(replace(here, query_prefix="query: "))

    def test_adapter_is_distinguished_from_its_model(self, tmp_path: Path) -> None:
        for name, content in (("base", "1"), ("lora", "2")):
            (tmp_path / name).mkdir()
            (tmp_path / name / "model.safetensors").write_text(content)
        base, lora = str(tmp_path / "base"), str(tmp_path / "lora")
        chat = partial(TransformersChat, revision="")
        assert len({key(chat(model=base)), key(chat(model=lora)), key(chat(model=base, adapter=lora))}) == 3

    def test_model_path_changes_the_key_of_a_user_class(self, tmp_path: Path) -> None:
        """The author of a class decides what its content hash covers."""
        (tmp_path / "model").mkdir()
        assert key(UsersModel(str(tmp_path / "model"))) != key(UsersModel(str(tmp_path)))


@dataclass(frozen=True)
class UsersModel:
    model: str

    def content_hash(self) -> str:
        return "the vocabulary alone"


@dataclass(frozen=True)
class OfMissingFile:
    def content_hash(self) -> str:
        raise FileNotFoundError("table.txt")


@dataclass(frozen=True)
class OfBytes:
    def content_hash(self) -> bytes:
        return b"abc"


@pytest.mark.parametrize(
    ("component", "message"),
    [
        (OfMissingFile(), r"OfMissingFile: content_hash failed \(FileNotFoundError: table.txt; .*, line \d+\)"),
        (OfBytes(), "OfBytes: content_hash returned bytes, expected a string"),
    ],
)
def test_unusable_content_hash_is_an_error_of_its_class(component: object, message: str) -> None:
    with pytest.raises(ComponentError, match=message):
        hash_description(describe(component))
