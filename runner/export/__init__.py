"""The pipeline of one cell as a folder of its own, that answers questions wherever it is put."""
