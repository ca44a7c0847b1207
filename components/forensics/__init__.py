"""The stage and the reason of a sample's failure, found without a model, by rules over a cell's stored results."""
