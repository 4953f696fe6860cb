"""A kind of one's own: pairs of answers, one chosen and one rejected, and the loss that tells them apart."""

from pathlib import Path

from blueprint.workbooks import Kind

HERE = Path(__file__).parent
KIND = Kind(
    "toy",
    "preference pairs",
    {"pairs": "tests.kinds.toy.level:LEVEL"},
    "tests.kinds.toy.definitions:preference",
    settings="tests.kinds.toy.level:SETTINGS",
    numbers=HERE / "numbers",
    saved={"pairs": ("sides", {"pairs.logprobs": "logprobs"})},
    paper="tests.kinds.toy.paper:PAGE",
    gradient="tests.kinds.toy.definitions:with_slopes",
)
