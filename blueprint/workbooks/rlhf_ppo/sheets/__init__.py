"""The sheets of the workbook: each function takes blocks, adds the definitions that it shows, and outlines them."""
