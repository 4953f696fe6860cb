"""KTO: single responses, each good or bad by itself."""
