"""Audit event for files that a stored hash covers. Reusing the hash opens no file, so audit hooks would miss them."""

import sys
from pathlib import Path

IDENTIFIED = "components.identified_file"
"""Audit event with the path of a file whose content a hash covers."""


def note_identified(file: Path) -> None:
    """Raise the audit event."""
    sys.audit(IDENTIFIED, str(file))
