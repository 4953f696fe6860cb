"""A book as one page for the browser: its equations travel as data, and the page computes every number by itself."""
