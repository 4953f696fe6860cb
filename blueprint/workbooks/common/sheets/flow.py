"""The map of the flow: boxes in cells, from the models on the left to the total loss on the right."""

from blueprint.language import Block
from blueprint.page.outline import Box

ON, UP, DOWN, LINE, DASH = "→", "↗", "↘", "───────────", "──"


def with_(title: str, block: Block) -> Box:
    """Names what else enters the box above."""
    return Box(f"with {title}", block, small=True)
