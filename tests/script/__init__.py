"""Tests of reading scripts."""
