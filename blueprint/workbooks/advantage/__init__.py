"""What is multiplied with ∇log π: a return, less a baseline, less a value, or GAE; and what that does to bias and variance."""
