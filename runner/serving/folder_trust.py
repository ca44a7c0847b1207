"""Finds code that an exported folder names: custom packages, programs, and code of models. The folder may come from
anyone.
"""

from components.errors import ConfigError
from runner.engine.plugins.trusted_packages import code_of_fields, foreign_targets
from runner.serving.folder_description import Description


def foreign_code(description: Description) -> list[str]:
    """Return the third-party code that answering would run, each with the configuration path that names it. Imports
    only our own components.
    """
    foreign = foreign_targets(description.components, "", ())
    return [*(f"{target} ({location})" for location, target in foreign), *code_of_fields(description.components, "")]


def require_trust(description: Description, folder: str, *, trust: bool) -> None:
    """Raise ConfigError for a folder that runs third-party code, unless it is trusted."""
    code = foreign_code(description)
    if code and not trust:
        raise ConfigError(
            [
                f"{folder}: answering runs {each}. If you trust the author of the folder, use "
                "load_pipeline(FOLDER, trust=True), or python pipeline.py --trust"
                for each in code
            ]
        )
