"""Text processing shared by all roles: normal forms, sentences, tables of terms, rankings."""
