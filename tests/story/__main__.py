"""Writes the page and its pictures."""

from tests.story.page import PAGE, PICTURED, page
from tests.story.pictures import PICTURES

PAGE.write_text(page(), encoding="utf-8")
for name, draw in PICTURES.items():
    (PICTURED / name).write_text(draw().svg(), encoding="utf-8")
