"""Classes of llama-index inside components, found by import path and checked before they are built."""

import importlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.errors import ComponentError, install_command
from components.limits import expected_one_of
from components.openai_server.access import key_problems, read_api_key
from components.pretrained.load_once import load_once
from components.secrets.names import field_names_secret

_ROOT = "llama_index."


@dataclass(frozen=True)
class LlamaIndexClass:
    """A class at `class_path` with the `arguments` of its constructor.

    `api_key_env` names the environment variable with the argument `api_key`, "" for none. `base` is the import path of
    the required base class, and `example` the path of a valid subclass.
    """

    class_path: str
    arguments: Mapping[str, bool | int | float | str]
    api_key_env: str
    base: str
    example: str

    @property
    def model(self) -> str:
        """Name of the model in the arguments; the class path if they have none."""
        return str(self.arguments.get("model") or self.arguments.get("model_name") or self.class_path)

    @property
    def revision(self) -> str:
        """The class and its arguments as JSON. It distinguishes classes with the same model."""
        return json.dumps([self.class_path, dict(self.arguments)], sort_keys=True)

    def check(self) -> list[str]:
        """Return error messages about the class, unknown or missing arguments, secrets, and a key that is not set.
        Imports the class.
        """
        problems = [
            f"arguments.{name}: must not contain a secret, because the configuration is stored. Name the environment "
            "variable that holds it, as in api_key_env=MY_KEY"
            for name, value in self.arguments.items()
            if field_names_secret(name, str(value))
        ]
        problems += key_problems(self.api_key_env)
        try:
            parameters, required = self._parameters()
        except ComponentError as error:
            return [*problems, f"class_path: {error}"]
        arguments = {*self.arguments, *(["api_key"] if self.api_key_env else [])}
        problems += [
            f"arguments.{name}: missing, {self.class_path} requires it" for name in sorted(required - arguments)
        ]
        return problems + [
            f"arguments.{name}: unknown argument of {self.class_path}{expected_one_of(name, sorted(parameters))}"
            for name in sorted(arguments - parameters)
        ]

    def takes(self, argument: str) -> bool:
        """Return True if the class has this argument. Raises ComponentError if the class does not exist."""
        return argument in self._parameters()[0]

    def instance(self) -> Any:
        """Return an instance of the class, always the same. Raises ComponentError if it cannot be built."""
        return _instance(self.model, self.revision, self.class_path, self.api_key_env, self.base, self.example)

    def _parameters(self) -> tuple[set[str], set[str]]:
        """Return all names that the constructor accepts (parameters and fields), and the required ones.

        Raises ComponentError if the class cannot be imported, or is not a subclass of `base`.
        """
        cls = _import_class(self.class_path, self.base, self.example)
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        named = {
            parameter.name: parameter
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        }
        required = {name for name, parameter in named.items() if parameter.default is parameter.empty}
        if not named:  # the constructor of pydantic
            required = {name for name, field in cls.model_fields.items() if field.is_required()}
        return {*named, *cls.model_fields}, required


@load_once
def _instance(_model: str, revision: str, class_path: str, api_key_env: str, base: str, example: str) -> Any:
    secret = {"api_key": read_api_key(api_key_env)} if api_key_env else {}
    _, arguments = json.loads(revision)
    try:
        return _import_class(class_path, base, example)(**arguments, **secret)
    except Exception as error:  # pydantic's error, or any error of a constructor
        raise ComponentError(
            f"arguments: {class_path} cannot be built from them ({type(error).__name__}: {error})"
        ) from error


def _import_class(class_path: str, base: str, example: str) -> Any:
    """Import the class. Raises ComponentError with advice if that fails or it has another base class."""
    if not class_path.startswith(_ROOT):
        raise ComponentError(f"got {class_path!r}, expected the import path of a class of llama-index, e.g. {example}")
    try:
        imported = _import_object(class_path)
    except (ImportError, AttributeError) as error:
        kind, *maker = class_path.split(".")[1:-1][:2] or ["core"]
        package = "-".join(["llama-index", kind, *maker]).replace("_", "-")
        install = install_command("llama-index") if kind == "core" else f"python -m pip install {package}"
        raise ComponentError(
            f"{class_path!r} cannot be imported ({error}); its package may be missing: {install}"
        ) from error
    base_class = _import_object(base)
    if not (isinstance(imported, type) and issubclass(imported, base_class)):
        raise ComponentError(
            f"{class_path!r} cannot be used here, expected a subclass of {base_class.__name__}, e.g. {example}"
        )
    return imported


def _import_object(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)
