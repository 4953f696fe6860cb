"""The record of the advantage: returns, baselines, values and GAE, and the variance of the gradient by each."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the advantage", "traces", "trace.action")
