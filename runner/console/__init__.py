"""How commands start, print, write files and end."""
