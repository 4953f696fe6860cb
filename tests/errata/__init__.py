"""What the page Errata measures in more than a few lines: each module prints what the page quotes."""
