"""A whole run: every step of a directory of dumps verified, in many processes, resumably, and told as one table and plot."""
