"""What is multiplied with ∇log π: a return, with a baseline, with a learned value, or GAE; and what that does to bias and variance."""
