"""The outside witness: what a page of `papers` is fed of a workbook (what is typed, and no more), and where torch computes it.

Each kind of workbook has its reader, `workbooks/KIND/paper.py`. Needs the extra `torch`.
"""
