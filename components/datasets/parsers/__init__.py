"""Parsers of documents, one file each: see `components.protocols.parsing`."""
