"""A class of llama-index that a component is made of, found by its import path and checked before it is built."""

import importlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from components.errors import ComponentError
from components.openai_server.access import key_in, mistakes_of_key
from components.pretrained.load_once import load_once
from components.secrets.names import field_names_secret

_ROOT = "llama_index."


@dataclass(frozen=True)
class LlamaIndexClass:
    """The class at `class_path`, with the `arguments` of its constructor; `api_key_env` names the environment variable
    that holds the argument `api_key`, "" for none. `base` is the import path of the class that it has to inherit,
    `example` that of one that does.
    """

    class_path: str
    arguments: Mapping[str, bool | int | float | str]
    api_key_env: str
    base: str
    example: str

    @property
    def model(self) -> str:
        """What its arguments call the model; the class where they name none."""
        return str(self.arguments.get("model") or self.arguments.get("model_name") or self.class_path)

    @property
    def revision(self) -> str:
        """What tells it apart from others of the same model: the class and the arguments."""
        return json.dumps([self.class_path, dict(self.arguments)], sort_keys=True)

    def check(self) -> list[str]:
        """A class that cannot be meant, arguments that it does not take, secrets, and a key that is not set. Imports
        the class.
        """
        mistakes = [
            f"arguments.{name}: a secret has no place in a configuration, which is kept; name the environment variable "
            "that holds it, as in api_key_env=MY_KEY"
            for name, value in self.arguments.items()
            if field_names_secret(name, str(value))
        ]
        mistakes += mistakes_of_key(self.api_key_env)
        try:
            known, required = self._parameters()
        except ComponentError as error:
            return [*mistakes, f"class_path: {error}"]
        given = {*self.arguments, *(["api_key"] if self.api_key_env else [])}
        mistakes += [f"arguments.{name}: missing, {self.class_path} wants it" for name in sorted(required - given)]
        for name in sorted(given - known):
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(known))}"
            mistakes.append(f"arguments.{name}: {self.class_path} has no such argument; {hint}")
        return mistakes

    def takes(self, argument: str) -> bool:
        """Whether the class has such an argument. Raises ComponentError if there is no such class."""
        return argument in self._parameters()[0]

    def instance(self) -> Any:
        """One of the class, the same each time. Raises ComponentError if it cannot be made."""
        return _instance(self.model, self.revision, self.class_path, self.api_key_env, self.base, self.example)

    def _parameters(self) -> tuple[set[str], set[str]]:
        """What its constructor takes by name (its parameters, and the fields that it hands on), and what it must have.
        Raises ComponentError.
        """
        cls = _imported(self.class_path, self.base, self.example)
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        named = {each.name: each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
        required = {name for name, each in named.items() if each.default is each.empty}
        if not named:  # that of pydantic itself
            required = {name for name, each in cls.model_fields.items() if each.is_required()}
        return {*named, *cls.model_fields}, required


@load_once
def _instance(_model: str, revision: str, class_path: str, api_key_env: str, base: str, example: str) -> Any:
    secret = {"api_key": key_in(api_key_env)} if api_key_env else {}
    _, arguments = json.loads(revision)
    try:
        return _imported(class_path, base, example)(**arguments, **secret)
    except Exception as error:  # pydantic's, or whatever a constructor raises
        raise ComponentError(
            f"arguments: {class_path} cannot be made of them ({type(error).__name__}: {error})"
        ) from error


def _imported(class_path: str, base: str, example: str) -> Any:
    """Raises ComponentError."""
    if not class_path.startswith(_ROOT):
        raise ComponentError(f"got {class_path!r}, expected the import path of a class of llama-index, e.g. {example}")
    try:
        found = _at(class_path)
    except (ImportError, AttributeError) as error:
        kind, *maker = class_path.split(".")[1:-1][:2] or ["core"]
        package = "-".join(["llama-index", kind, *([] if kind == "core" else maker)]).replace("_", "-")
        raise ComponentError(
            f"{class_path!r} cannot be imported ({error}); its package may be missing: python -m pip install {package}"
        ) from error
    wanted = _at(base)
    if not (isinstance(found, type) and issubclass(found, wanted)):
        raise ComponentError(
            f"{class_path!r} does not fit here, expected a subclass of {wanted.__name__}, e.g. {example}"
        )
    return found


def _at(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)
