"""Reports: what is shown and stored about runs and plans."""
