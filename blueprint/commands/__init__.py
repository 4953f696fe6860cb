"""The commands, a module each: they parse, call and print; what they share is how they refuse, and what they say of a workbook."""
