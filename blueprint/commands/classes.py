"""The command `class`: which commands a class has. Each is a module of its own, imported when it is called."""

import click

from blueprint.commands.lazy import Command, Lazy

COMMANDS = {
    "grade": Command("class_grade:grade", "Mark what students handed in, with feedback, flags and a report."),
    "regrade": Command(
        "class_regrade:regrade", "Mark it again by another key or grading policy: who changes, and why."
    ),
    "make": Command(
        "class_make:make_class", "Make a worksheet with inputs of their own for each student, and the key."
    ),
    "preview": Command(
        "class_preview:preview_class", "Show which blanks a class would have, and how answers are spread."
    ),
    "report": Command("class_report:report", "Write a page on how a class did: marks, blanks, mistakes, flags."),
    "show": Command("class_show:show", "Show one student's inputs and answers, or write a lost file again."),
}
"""By name where a command lies, and what it does."""


@click.group("class", cls=Lazy, addresses=COMMANDS)
def class_() -> None:
    """A variant of one worksheet for each student of a class, graded so that one mistake counts once."""
