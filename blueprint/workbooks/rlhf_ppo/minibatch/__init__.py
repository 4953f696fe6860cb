"""A real minibatch: a few responses, a window of columns each, and the rest of the batch as typed numbers."""
