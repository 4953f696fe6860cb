"""A kind of one's own: pairs of answers, one chosen and one rejected, and the loss that tells them apart."""
