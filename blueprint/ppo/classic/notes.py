"""x"""

NOTES: dict[str, str] = {}
