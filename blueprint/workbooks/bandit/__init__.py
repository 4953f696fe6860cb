"""A bandit: pulls of a few arms, one after the other, of which each changes what the next one is likely to be."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the bandit", "pulls", "arm.mean")
