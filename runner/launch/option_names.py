"""Names of the options of a configuration group. Imports no library, so that `--help` appears immediately."""

from importlib.resources.abc import Traversable


def option_names(folder: Traversable) -> list[str]:
    """Return the names of the YAML files in a folder, sorted, or [] if the folder does not exist."""
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))
