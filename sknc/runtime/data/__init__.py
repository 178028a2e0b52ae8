"""A submodel's share of the data: which rows, which labels, which part of the targets."""
