"""Files that show a few responses of a training minibatch, a window of columns each.

What lies outside the window enters as typed numbers: statistics and counts of the whole batch, the value and the advantage
behind the last column, and the sums over words that are not shown. Where a file begins depends on what its dump had.
"""
