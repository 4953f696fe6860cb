"""Reserved names: the sheets and the names that it adds to those of an outline, which no outline may use."""

DELIVERED, FORMULAS, CONTENTS = "Delivered", "Formulas", "Contents"
SHEETS = {
    DELIVERED: "a copy of everything typed, and what was changed since: to undo a change, copy the number back",
    FORMULAS: "whether every formula is the one that was delivered, and the sheet and row of the first that is not",
    CONTENTS: "every row: name, symbol, meaning, place, equation, what it reads, its paper or library",
}
"""Each sheet with what stands there, in the order of the tabs."""

CONTENTS_RANGE, CHOSEN_PLACE, CHANGED_INPUTS = "blueprint_contents", "chosen_place", "changed_inputs"
CHANGED_SINCE, FIRST_FORMULA = "changed_since", "first_formula"
NAMES = (CONTENTS_RANGE, CHOSEN_PLACE, CHANGED_INPUTS, CHANGED_SINCE, FIRST_FORMULA)
"""The table of contents, by which readers find every block; where the chosen column is in every row; how many typed
blocks were changed, without the choice of what is shown and with it; and the first formula that is not as delivered."""

UNPRINTED = "Of this sheet only the head is printed, for its length; to print it all, clear its print area."
