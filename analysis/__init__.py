"""From the results of sweeps to tables and tests."""

import sys
from pathlib import Path

# The working directory may hold a `runner` of the user's. Once ours is loaded it finds the rest of us: `own_packages`.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from runner.loaded import LoadedSweep, load

del sys.path[0]

__all__ = ["LoadedSweep", "load"]
