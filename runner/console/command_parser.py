"""Parser of our commands' arguments."""

import argparse
from typing import NoReturn

from components.secrets.mask import masked


class CommandParser(argparse.ArgumentParser):
    """Parser that hides secrets in errors, which repeat arguments. Parsers of subcommands do so too."""

    def error(self, message: str) -> NoReturn:
        """Write the usage and the masked message to standard error, and exit with 2."""
        super().error(masked(message))
