"""The page's own: the sheets and the names that it adds to those of an outline, which no outline may use."""

DELIVERED, CONTENTS = "Delivered", "Contents"
SHEETS = {
    DELIVERED: "a copy of everything typed, and what was changed since: to undo a change, copy the number back",
    CONTENTS: "every row: name, symbol, meaning, place, equation, what it reads, its paper or library",
}
"""Each sheet with what stands there, in the order of the tabs."""

CONTENTS_RANGE, CHOSEN_PLACE, CHANGED_INPUTS = "blueprint_contents", "chosen_place", "changed_inputs"
NAMES = (CONTENTS_RANGE, CHOSEN_PLACE, CHANGED_INPUTS)
"""The table of contents, by which readers find every block; where the chosen column is in every row; and how many typed
blocks were changed."""

UNPRINTED = "Of this sheet only the head is printed, for its length; to print it all, clear its print area."
