"""The results of sweeps as pandas frames, for notebooks and scripts: `analysis.load`."""
