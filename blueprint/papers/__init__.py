"""Each method as its papers have it, on a page of plain torch, and the same with what libraries do otherwise (`papers.libraries`).

Nothing of the rest of the package is imported here: these pages are what the definitions are held against.
"""
