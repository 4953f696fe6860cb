"""The page of course companions: what a course calls a function, which workbook shows it, and the number that both give."""
