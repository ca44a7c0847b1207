"""Hydra's composition of a configuration, each part of it once.

Hydra merges three dozen files for each choice of options, in 60 ms. What a file brings lies below its package, nearly
always in one of the configuration's top-level parts (`retriever`, `hydra`, ...): a part that the same files make is the
same, whatever was chosen for the others. Hydra says which files they are, and in which order; parts that were made
before are taken from then.
"""

import copy
import pickle
from collections.abc import Iterator, Sequence
from itertools import combinations
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
from omegaconf import DictConfig, flag_override

from runner.console.private_parts import HYDRA, may_use_private_parts
from runner.launch.hydra_code import require_known_code
from runner.launch.hydra_folders import require_results_folder
from runner.launch.search_places import read_as_data

Pickles = dict[tuple[object, ...], bytes]

_OF_PACKAGES = ("group", "pkg", "structured")
"""Kinds of places whose files do not change."""


class PartsLoader(ConfigLoaderImpl):  # type: ignore[misc]
    """Composes what Hydra's own loader does. Files are taken not to change while it lives, and those of packages while
    the process does; nodes of Hydra's store may be registered anew.
    """

    def __init__(self, config_search_path: ConfigSearchPath) -> None:
        super().__init__(config_search_path)
        self.repository = _LoadedOnce(config_search_path)

    def load_configuration(
        self, config_name: str | None, overrides: list[str], *arguments: Any, **options: Any
    ) -> DictConfig:
        """As Hydra's. Raises HydraException for code that Hydra would run and nobody named (see `hydra_code`), for a
        folder that is not used (see `hydra_folders`), and for an option that is no name, such as `chunk=null`.
        """
        self._require_named_options(overrides)
        config: DictConfig = super().load_configuration(config_name, overrides, *arguments, **options)
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
        made = repo.delegate.made
        composed = DictConfig({})
        with flag_override(composed, "no_deepcopy_set_nodes", True):
            for name, files in _files_of_parts(defaults, repo).items():
                key = ("part", name, *((each.config_path, each.package) for each in files))
                if key not in made:
                    if len(files) > 1 and self._merges_into_another(files, repo):
                        whole: DictConfig = super()._compose_config_from_defaults_list(defaults, repo)
                        return whole
                    made[key] = self._make(name, files, repo)
                part = pickle.loads(made[key])  # noqa: S301 - this process made it
                if part is not None:
                    composed[name] = part
        return composed

    def _make(self, name: str, files: list[ResultDefault], repo: IConfigRepository) -> bytes:
        part = super()._compose_config_from_defaults_list(files, repo)._get_node(name)
        if part is not None:  # lists of defaults are gone
            part._set_parent(None)
        return pickle.dumps(part)

    def _merges_into_another(self, files: Sequence[ResultDefault], repo: IConfigRepository) -> bool:
        """True if one of the files has a mapping where one before it has a reference: Hydra then begins from a copy of
        what is referred to, which may lie in another part.
        """
        configs = [self._load_single_config(each, repo).config for each in files]
        return any(_fills_a_reference(later, earlier) for earlier, later in combinations(configs, 2))


class _LoadedOnce(ConfigRepository):  # type: ignore[misc]
    """Hydra's repository for many compositions, each of which changes what it is given. Keeps what they have made."""

    def initialize_sources(self, config_search_path: ConfigSearchPath) -> None:
        super().initialize_sources(read_as_data(config_search_path))
        places = tuple((source.scheme(), source.provider, source.path) for source in self.sources)
        is_packaged = all(scheme in _OF_PACKAGES for scheme, *_ in places)
        self.made = _made_from(places) if is_packaged else {}

    def __deepcopy__(self, memo: object) -> "_LoadedOnce":
        """One that may be given other sources. What was made of these is shared."""
        return copy.copy(self)

    def load_config(self, config_path: str) -> ConfigResult | None:
        key = ("file", config_path)
        if key not in self.made:
            try:
                self.made[key] = pickle.dumps(super().load_config(config_path))
            except (yaml.YAMLError, UnicodeDecodeError) as error:
                what = " ".join(str(error).split())
                raise HydraException(f"{config_path}: is not YAML that can be read ({what}); mend the file") from error
        return pickle.loads(self.made[key])  # noqa: S301 - this process made it


_kept: dict[tuple[object, ...], tuple[Pickles, list[ConfigNode]]] = {}


def _made_from(places: tuple[tuple[str, ...], ...]) -> Pickles:
    """One for all loaders that look in the same places, until a program registers other nodes with Hydra."""
    nodes = list(_registered(ConfigStore.instance().repo))
    made, _ = _kept.setdefault((places, *map(id, nodes)), ({}, nodes))  # what is kept shares its id with no other
    return made


def _registered(repo: dict[str, Any]) -> Iterator[ConfigNode]:
    for found in repo.values():
        yield from _registered(found) if isinstance(found, dict) else [found]


def _files_of_parts(defaults: Sequence[ResultDefault], repo: IConfigRepository) -> dict[str, list[ResultDefault]]:
    """For each top-level name the files that bring something to it, in the order in which they are merged."""
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
