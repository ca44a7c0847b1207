"""Turn samples into queries."""
