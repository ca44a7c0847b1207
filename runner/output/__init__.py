"""What a finished cell becomes: files, the terminal's tables, MLflow."""
