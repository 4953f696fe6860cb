"""The hooks of docs/dump-hooks.md in the real libraries: a training step of tiny random models, and what verify says of it."""
