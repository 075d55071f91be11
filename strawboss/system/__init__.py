"""What every tool stands on: private files, own directories, process identity, JSON files, printable text."""
