"""What is multiplied with ∇log π: a return, less a baseline, less a value, or GAE; and what that does to bias and variance."""

from blueprint.workbooks.kind import lesson_in

KIND = lesson_in(__file__, "the advantage", "traces", "trace.action")
