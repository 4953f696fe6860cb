"""Value iteration on a small grid: what each cell is worth, sweep by sweep."""
