"""Questions from production: traces of an application become a data set of questions."""
