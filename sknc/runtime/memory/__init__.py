"""Planning the memory of a training, in the standard library alone, so that a program can plan where it runs."""
