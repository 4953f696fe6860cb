"""What kinds of workbooks share: definitions, conventions, settings, and the sheets that every workbook has."""
