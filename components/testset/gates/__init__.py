"""Gates that reject or tag flawed drafts, one gate per file."""
