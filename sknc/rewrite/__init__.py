"""Rewriting: a read block becomes span edits with holes, and programs are the user's text with the holes filled."""
