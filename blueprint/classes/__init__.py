"""A class: a variant of one worksheet for each student, and what comes back of them, marked."""
