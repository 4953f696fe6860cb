"""Explanations: the chain of one cell down to the inputs, as a tree, as text, in LaTeX and as JSON."""
