"""What a reward model's scores and loss are made of, in the notation."""
