"""Rankings of documents as the files that other tools and challenges read."""
