"""Tells which files a stored hash stands for: it does not open them again, so nobody sees that it covers them."""

import sys
from pathlib import Path

IDENTIFIED = "components.identified_file"
"""Audit event with the path of a file whose content a hash covers."""


def note_identified(file: Path) -> None:
    """Raise the audit event."""
    sys.audit(IDENTIFIED, str(file))
