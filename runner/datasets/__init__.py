"""What a data set holds, before a number of it is trusted."""
