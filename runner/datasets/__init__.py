"""Shows what a data set holds, before anyone trusts a number from it."""
