"""Composes Hydra's configurations from parts, each composed once.

Hydra merges three dozen files for each choice of options, in 60 ms. The content of a file is below its package, nearly
always in one of the configuration's top-level parts (`retriever`, `hydra`, ...). A part that is merged from the same
files does not depend on the choices for other parts. Hydra determines the files and their order, and we reuse the
parts that were composed before.
"""

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository, IConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigNode, ConfigStore
from hydra.core.default_element import ResultDefault
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, flag_override

from runner.console.private_shortcuts import HYDRA, may_use_private_parts
from runner.launch.hydra_code import require_known_code
from runner.launch.hydra_folders import require_results_folder
from runner.launch.overrides import unknown_key
from runner.launch.plain_yaml import require_plain_yaml
from runner.results.cell_axes import parse_override_key

Pickles = dict[tuple[object, ...], bytes]

_OF_PACKAGES = ("group", "pkg", "structured")
"""Kinds of places that are part of a package: their files do not change."""

_IMPORTING = ("pkg", "group")
"""Kinds of places that Hydra finds by an import."""

_KNOWN = frozenset({"conf", "sweeps", "runner", "hydra", "hydra_plugins"})
"""Packages that this command has imported anyway."""


class PartsLoader(ConfigLoaderImpl):  # type: ignore[misc]
    """Composes the same configurations as Hydra's loader.

    Files are assumed not to change during the loader's lifetime, and files of packages during the process. Nodes of
    Hydra's store may be registered again.
    """

    def __init__(self, config_search_path: ConfigSearchPath) -> None:
        super().__init__(config_search_path)
        self.repository = _CachingRepository(config_search_path)

    def load_configuration(
        self, config_name: str | None, overrides: list[str], run_mode: RunMode, *arguments: object, **options: object
    ) -> DictConfig:
        """Compose a configuration: see Hydra.

        Raises HydraException for an option that is not a name, such as `chunk=null`. Also raises it for code that Hydra
        would run although the user did not name it (see `hydra_code`), and for unused folders (see `hydra_folders`).
        """
        self._require_named_options(overrides)
        load = partial(super().load_configuration, config_name)
        config = (
            _load_sweep(load, overrides, *arguments, **options)
            if run_mode is RunMode.MULTIRUN
            else (load(overrides, run_mode, *arguments, **options))
        )
        require_known_code(config)
        require_results_folder(config)
        return config

    def _require_named_options(self, overrides: Sequence[str]) -> None:
        for override in OverridesParser.create().parse_overrides(list(overrides)):
            group = override.key_or_group
            if override.is_sweep_override() or override.is_delete() or isinstance(override.value(), str | list | dict):
                continue
            if self.repository.group_exists(group):
                known = ", ".join(self.repository.get_group_options(group))
                raise HydraException(f"{override.input_line}: expected the name of an option of {group}: {known}")

    def _compose_config_from_defaults_list(self, defaults: list[ResultDefault], repo: IConfigRepository) -> DictConfig:
        if not may_use_private_parts(HYDRA):
            plain: DictConfig = super()._compose_config_from_defaults_list(defaults, repo)
            return plain
        cache = repo.delegate.cache
        composed = DictConfig({})
        with flag_override(composed, "no_deepcopy_set_nodes", True):
            for name, files in _part_files(defaults, repo).items():
                key = ("part", name, *((each.config_path, each.package) for each in files))
                if key not in cache:
                    if len(files) > 1 and self._merges_into_another(files, repo):
                        whole: DictConfig = super()._compose_config_from_defaults_list(defaults, repo)
                        return whole
                    cache[key] = self._compose_part(name, files, repo)
                part = pickle.loads(cache[key])  # noqa: S301 - this process created it
                if part is not None:
                    composed[name] = part
        return composed

    def _compose_part(self, name: str, files: list[ResultDefault], repo: IConfigRepository) -> bytes:
        part = super()._compose_config_from_defaults_list(files, repo)._get_node(name)
        if part is not None:  # lists of defaults are removed, and leave None
            part._set_parent(None)
        return pickle.dumps(part)

    def _merges_into_another(self, files: Sequence[ResultDefault], repo: IConfigRepository) -> bool:
        """Return True if a file has a mapping where an earlier file has a reference.

        Hydra then starts from a copy of the referenced node, which may be in another part.
        """
        configs = [self._load_single_config(each, repo).config for each in files]
        return any(_fills_a_reference(later, earlier) for earlier, later in combinations(configs, 2))


def _load_sweep(
    load: Callable[..., DictConfig], overrides: Sequence[str], *arguments: object, **options: object
) -> DictConfig:
    """Compose the configuration of a whole sweep, in which each group has its default option.

    Hydra applies single values of a sweep to it, and values of axes only to the jobs. A single value that only another
    option has is therefore passed as an axis. Raises HydraException for all other errors.
    """
    passed = dict(zip(overrides, overrides, strict=True))
    while True:
        try:
            config = load(list(passed.values()), RunMode.MULTIRUN, *arguments, **options)
        except HydraException as error:
            unknown = unknown_key(str(error))
            affected = [each for each, now in passed.items() if now == each and parse_override_key(each) == unknown]
            if not affected or "." not in unknown:
                raise
            for each in affected:
                key, _, value = each.partition("=")
                passed[each] = f"{key}=choice({value or repr('')})"
            continue
        task = {now: each for each, now in passed.items()}
        config.hydra.overrides.task = [task.get(each, each) for each in config.hydra.overrides.task]
        return config


class _CachingRepository(ConfigRepository):  # type: ignore[misc]
    """Hydra's repository, made for many compositions. Caches files and parts as bytes, because Hydra modifies them."""

    def initialize_sources(self, config_search_path: ConfigSearchPath) -> None:
        super().initialize_sources(_as_folders(config_search_path))
        places = tuple((source.scheme(), source.provider, source.path) for source in self.sources)
        is_packaged = all(scheme in _OF_PACKAGES for scheme, *_ in places)
        self.cache = _get_cache(places) if is_packaged else {}

    def __deepcopy__(self, memo: object) -> "_CachingRepository":
        """Return a repository that can receive other sources. It shares the parts composed from the current sources."""
        return copy.copy(self)

    def load_config(self, config_path: str) -> ConfigResult | None:
        key = ("file", config_path)
        if key not in self.cache:
            try:
                self._require_plain(config_path)
                self.cache[key] = pickle.dumps(super().load_config(config_path))
            except (yaml.YAMLError, ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
                problem = " ".join(str(error).split())
                raise HydraException(f"{config_path}: cannot be read as YAML ({problem}). Fix the file.") from None
        return pickle.loads(self.cache[key])  # noqa: S301 - this process created it

    def _require_plain(self, config_path: str) -> None:
        """Raise ValueError for a YAML file that a loader would misread, or that does not fit into memory."""
        for source in self.sources:
            if source.scheme() == "file" and source.is_config(config_path):
                require_plain_yaml((Path(source.path) / source._normalize_file_name(config_path)).read_bytes())
                return


_caches: dict[tuple[object, ...], tuple[Pickles, list[ConfigNode]]] = {}


def _get_cache(places: tuple[tuple[str, ...], ...]) -> Pickles:
    """Return the cache of all loaders that search the same places. Registering other nodes replaces it."""
    nodes = list(_registered_nodes(ConfigStore.instance().repo))
    # the cache keeps the nodes alive, so their ids stay unique
    cache, _ = _caches.setdefault((places, *map(id, nodes)), ({}, nodes))
    return cache


def _registered_nodes(repo: Mapping[str, object]) -> Iterator[ConfigNode]:
    for entry in repo.values():
        yield from _registered_nodes(entry) if isinstance(entry, dict) else [entry]


def _part_files(defaults: Sequence[ResultDefault], repo: IConfigRepository) -> dict[str, list[ResultDefault]]:
    """Map each top-level name to the files that contribute to it, in the order of merging."""
    files: dict[str, list[ResultDefault]] = {}
    for each in defaults:
        names = [each.package.partition(".")[0]] if each.package else repo.load_config(each.config_path).config
        for name in names:
            files.setdefault(str(name), []).append(each)
    return files


def _fills_a_reference(later: Any, earlier: Any) -> bool:
    if not _is_mapping(later) or earlier is None:
        return False
    if earlier._is_interpolation():
        return True
    return _is_mapping(earlier) and any(
        _fills_a_reference(later._get_node(name), earlier._get_node(name)) for name in later
    )


def _is_mapping(node: Any) -> bool:
    return isinstance(node, DictConfig) and not (node._is_none() or node._is_missing() or node._is_interpolation())


def _as_folders(search_path: ConfigSearchPath) -> ConfigSearchPath:
    """Replace packages of others in the search path by their folders: Hydra would import a package to read its files.

    Raises HydraException for an unknown package.
    """
    changed = copy.deepcopy(search_path)
    for element in changed.get_path():
        if element.path:
            element.path = _as_folder(element.path)
    return changed


def _as_folder(location: str) -> str:
    kind, separator, name = location.partition("://")
    package, *below = name.replace("/", ".").strip(".").split(".")
    if not separator or kind == "file" or (kind in _OF_PACKAGES and package in (*_KNOWN, "")):
        return location
    if kind not in _IMPORTING:  # a module of "structured" would be imported
        raise HydraException(
            f"hydra.searchpath: got {location}, expected a folder (file://FOLDER, or --config-dir FOLDER) or a package "
            "with configuration files (pkg://PACKAGE)"
        )
    folders = [Path(folder, *below) for folder in _find_folders(package)]
    existing = next((folder for folder in folders if folder.is_dir()), None)
    if existing is None:
        raise HydraException(
            f"hydra.searchpath: got {location}, expected an importable package with configuration files; a folder is "
            "given as file://FOLDER, or with --config-dir FOLDER"
        )
    return f"file://{existing}"


def _find_folders(package: str) -> list[str]:
    """Return a package's folders, without importing it."""
    try:
        spec = find_spec(package) if package.isidentifier() else None
    except ValueError:  # a module that was created by hand has no spec
        return []
    return list(spec.submodule_search_locations or ()) if spec else []
