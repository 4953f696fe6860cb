"""The exact frontier: what is optimised (a proxy) beside what is wanted (gold), over every response of a small language."""
