"""Components that turn texts into vectors."""
