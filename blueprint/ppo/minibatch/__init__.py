"""The blueprint of a real minibatch: a few responses, a window of columns each, and the rest of the batch as typed numbers."""

from blueprint.ppo.minibatch.level import minibatch_level

__all__ = ["minibatch_level"]
