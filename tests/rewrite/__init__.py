"""Tests of rewriting scripts."""
