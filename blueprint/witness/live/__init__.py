"""Files whose conventions are live: presets looked up, every row of the conventions, and libraries side by side.

Files of one shape are computed together. Every slot of a response has its log-prob and its value, padding included; what
counts as response is a convention.
"""
