"""Obeying a memory plan: a Keras model's own `fit`, with segments of its network recomputed or kept elsewhere."""
