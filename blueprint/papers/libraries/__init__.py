"""Each method as libraries compute it: the pages beside this folder with every convention in which they differ as a keyword."""
