"""From the results of sweeps to tables and tests."""
