"""Say how large what is given may be."""

LONGEST_TEXT = 500

# What each size may be; 64 words, and 31 + 32 + 1 rows of W, are the longest safe column of one formula.
LIMITS = {
    "vocabulary": (2, 64),
    "embedding": (1, 31),
    "hidden": (1, 32),
    "episodes": (1, 64),
    "prompt": (1, LONGEST_TEXT - 1),
    "max_new_tokens": (1, LONGEST_TEXT - 1),
}
