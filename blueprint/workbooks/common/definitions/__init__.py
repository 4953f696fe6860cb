"""The definitions that kinds share: every quantity once, as an equation."""
