"""A reward model: scores of whole responses, learned from which of two was preferred."""
