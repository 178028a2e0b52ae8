"""sknc: a compiler that makes Keras training fit the machine."""

__version__ = "0.1.0"
