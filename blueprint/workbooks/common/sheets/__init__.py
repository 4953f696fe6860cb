"""The sheets that every workbook has: the first one, the derivation of one number, checks and charts."""
