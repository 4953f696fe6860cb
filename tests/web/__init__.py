"""A book in the browser: read by Chromium, as people read it."""
