"""Deciding: pure arithmetic on frozen dataclasses. Imports neither TensorFlow nor anything that reads a file."""
