"""Questions from elsewhere: traces of an application, or a table, become a data set of questions."""
