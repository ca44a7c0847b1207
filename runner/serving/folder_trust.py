"""Code that an exported folder names: packages that are not ours, programs, and code of models. The folder may be
anybody's.
"""

from components.errors import ConfigError
from runner.engine.plugins.trusted import code_of_fields, foreign_targets
from runner.serving.folder_description import Description


def code_in(description: Description) -> list[str]:
    """The code that answering runs besides ours, each with the place that names it; [] for none. Imports our own
    components alone.
    """
    foreign = foreign_targets(description.components, "", ())
    return [*(f"{target} ({place})" for place, target in foreign), *code_of_fields(description.components, "")]


def require_trust(description: Description, folder: str, *, trust: bool) -> None:
    """Raises ConfigError for a folder that runs other code than ours, unless it is trusted."""
    found = code_in(description)
    if found and not trust:
        raise ConfigError(
            [
                f"{folder}: answering runs {each}; if you trust who wrote the folder, say so: "
                "load_pipeline(FOLDER, trust=True), or python pipeline.py --trust"
                for each in found
            ]
        )
