"""Cut documents into chunks."""
