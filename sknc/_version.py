"""The version of sknc, in the one place where the build and every manifest find it."""

__version__ = "0.1.0"
