"""What the sheet of rewards and advantages is called, and what it is for."""

TITLE = "Reward & advantage"
LEAD = "from one score at the end and a price for drifting to a learning signal for every word"
