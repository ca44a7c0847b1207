"""How well a judge agrees with people."""
