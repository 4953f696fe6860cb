"""Pages for people, from the templates in `pages`: each is one file that holds everything it shows, its plots too.

A page asks nothing of the network, so it may be opened offline and sent as it is. Whatever stands in a name is text, never a
tag. Colours never stand alone: what is marked by one has a word, a sign or a pattern as well.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from blueprint.quoting import page as seen

if TYPE_CHECKING:
    from jinja2 import Environment


def html_page(template: str, **shown: Any) -> str:
    """Fills a template of the folder `pages`."""
    return _templates().get_template(template).render(shown) + "\n"


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader  # only whoever writes a page waits for it

    found = Environment(
        loader=PackageLoader("blueprint.classes", "pages"), autoescape=True, trim_blocks=True, finalize=_visible
    )
    found.filters |= {"share": share, "two_decimals": two_decimals, "six_digits": six_digits, "zip": zip}
    return found


def _visible(value: object) -> object:
    """Spells out letters of a text that cannot be seen; what a template has made already is no plain text."""
    return seen(value) if type(value) is str else value


def share(number: float | None) -> str:
    """Prints a share in percent."""
    return "–" if number is None else f"{number:.0%}"


def two_decimals(number: float | None) -> str:
    """Prints a number with two decimals."""
    return "–" if number is None else f"{number:.2f}".replace("-", "−")


def six_digits(number: float | None) -> str:
    """Prints a number with the six digits that sheets show at most."""
    return "–" if number is None else f"{number:.6g}".replace("-", "−")
