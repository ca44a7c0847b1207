"""Sources of our configuration for Hydra: `conf`, and the package `sweeps` as one more group: `+sweeps=smoke`."""

from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin

CONF = "pkg://conf"


class PackageAsGroup(ConfigSource):  # type: ignore[misc]
    """`group://name`: the files of the package `name` as options of the group `name`, and nothing else.

    With Hydra's `pkg://`, the files would be primary configs, or every folder next to the package would be a group.
    """

    def __init__(self, provider: str, path: str) -> None:
        super().__init__(provider, path)
        self._files = SourcesRegistry.instance().resolve("pkg")(provider, f"pkg://{self.path}")

    @staticmethod
    def scheme() -> str:
        """Return the scheme of its entries in the search path."""
        return "group"

    def load_config(self, config_path: str) -> ConfigResult:
        return self._files.load_config(self._option(config_path))

    def available(self) -> bool:
        available: bool = self._files.available()
        return available

    def is_group(self, config_path: str) -> bool:
        return config_path in ("", self.path)

    def is_config(self, config_path: str) -> bool:
        option = self._option(config_path)
        return bool(option) and bool(self._files.is_config(option))

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        if config_path == self.path:
            return list(self._files.list("", results_filter))
        return [] if config_path or results_filter is ObjectType.CONFIG else [self.path]

    def _option(self, config_path: str) -> str:
        """Return the option of a path, "" if the path is not in the group."""
        group, _, option = config_path.partition("/")
        return option if group == self.path else ""


class PresetSearchPath(SearchPathPlugin):  # type: ignore[misc]
    """Adds the presets to the search path of our configuration, and not to other Hydra apps of the process."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if search_path.find_last_match(SearchPathQuery(provider=None, path=CONF)) >= 0:
            search_path.append("rag-grid", f"{PackageAsGroup.scheme()}://sweeps")
