"""Find the six sizes from what is given: stated under [sizes], else the shape of a part, else the default's."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from blueprint.inputs import LONGEST, ROWS, NumbersError, counted, refusal, shown

# What each size may be; 64 words, and 31 + 32 + 1 rows of W, are the longest safe column of one formula.
LIMITS = {
    "vocabulary": (2, 64),
    "embedding": (1, 31),
    "hidden": (1, 32),
    "episodes": ROWS,
    "prompt": (1, LONGEST - 1),
    "max_new_tokens": (1, LONGEST - 1),
}
# The shape of each part, in the names of the sizes; `joined` is embedding + hidden + 1.
SHAPES: dict[str, tuple[str, ...]] = {
    "draws": ("episodes", "max_new_tokens"),
    "E": ("vocabulary", "embedding"),
    "W": ("joined", "hidden"),
    "Y": ("hidden", "vocabulary"),
    "w": ("hidden",),
    "b": (),
}


@dataclass(frozen=True)
class Sizes:
    """Hold the sizes; `prompt` is the number of words of the longest prompt."""

    vocabulary: int = 8
    embedding: int = 3
    hidden: int = 4
    episodes: int = 2
    prompt: int = 4
    max_new_tokens: int = 4

    @property
    def columns(self) -> int:
        """Count the columns t = 1 … T of an episode."""
        return self.prompt + self.max_new_tokens

    @property
    def joined(self) -> int:
        """Count the rows of W, the length of [x; h; 1]."""
        return self.embedding + self.hidden + 1


class Claim(NamedTuple):
    """Say what a part of the file (`source`, a dotted key) tells about a size."""

    source: str
    size: str
    value: int


def resolved(parts: Mapping[str, Any], spare: Collection[str]) -> Sizes:
    """Settle the sizes: a part that may be dropped (`spare`) speaks last, [sizes] before the shapes of parts.

    Raises:
        NumbersError: if a size is outside its limits, or the text would be longer than 500 tokens.
    """
    sizes = Sizes(**{size: claim.value for size, claim in claims_of(parts, spare).items()})
    if sizes.columns > LONGEST:
        raise NumbersError(
            f"sizes.max_new_tokens: found {counted(sizes.prompt, 'prompt token')} and "
            f"{counted(sizes.max_new_tokens, 'new token')}, expected at most {LONGEST} tokens together."
        )
    return sizes


def claims_of(parts: Mapping[str, Any], spare: Collection[str]) -> dict[str, Claim]:
    """Take the first claim for each size, and check it; fixed responses come last of all, since they may be shorter."""
    claims = [
        Claim(key, size, number)
        for key, value in parts.items()
        for size, number in _solved(sizes_in(key, value)).items()
    ]
    claims.sort(
        key=lambda each: (each.source == "rollout.responses", each.source in spare, each.source[:6] != "sizes.")
    )
    settled: dict[str, Claim] = {}
    for claim in claims:
        if claim.size not in settled:
            _check_limits(claim)
            settled[claim.size] = claim
    return settled


def _check_limits(claim: Claim) -> None:
    low, high = LIMITS[claim.size]
    if not low <= claim.value <= high:
        found = shown(claim.value)
        stated = claim.source == f"sizes.{claim.size}"
        raise refusal(claim.source, found if stated else f"{claim.size} = {found}", f"{low} to {high}")


def _solved(told: dict[str, int]) -> dict[str, int]:
    """Return sizes, with the embedding in place of the rows of W, [x; h; 1], if these leave room for one."""
    embedding = told.pop("joined", 0) - told.get("hidden", 0) - 1
    return told | ({"embedding": embedding} if embedding > 0 else {})


def sizes_in(key: str, value: Any) -> dict[str, int]:
    """Read the sizes that a part tells by its shape, `joined` among them."""
    match key.split("."):
        case ["sizes", size]:
            return {size: value}
        case ["text", "vocabulary"]:
            return {"vocabulary": len(value)}
        case ["text", "prompts"]:
            return {"episodes": len(value), "prompt": max(map(len, value), default=1)}
        case ["rollout", "responses"]:
            longest = max(map(len, value), default=0)
            return {"episodes": len(value)} | ({"max_new_tokens": longest} if longest else {})
        case [_, part] if axes := SHAPES[part.removeprefix("delta_")]:
            lengths = (len(value), len(value[0]) if value else 0) if len(axes) == 2 else (len(value),)
            return dict(zip(axes, lengths, strict=True))
    return {}
