"""What a draft must not have wrong: one gate per file."""
