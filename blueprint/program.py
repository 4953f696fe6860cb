"""What this program is called."""

PROGRAM = "RLHF Blueprint"
