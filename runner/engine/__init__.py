"""Storage, planning and execution of stages. This package knows no step of the pipeline."""
