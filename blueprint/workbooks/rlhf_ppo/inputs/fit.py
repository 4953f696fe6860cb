"""Check that every given part has the shape the sizes ask for, and drop built-in parts that no longer have it."""

from collections.abc import Collection, Mapping
from typing import Any

from blueprint.inputs import NumbersError, check_known, check_vocabulary, counted, refusal, shown
from blueprint.workbooks.rlhf_ppo.inputs import draw
from blueprint.workbooks.rlhf_ppo.inputs.sizes import SHAPES, Claim, Sizes, claims_of, sizes_in


def fitting(parts: Mapping[str, Any], sizes: Sizes, spare: Collection[str]) -> dict[str, Any]:
    """Return the parts that fit the sizes and each other, without those of `spare` that do not.

    Raises:
        NumbersError: if a part that may not be dropped does not fit.
    """
    kept, claims = dict[str, Any](), claims_of(parts, spare)
    for key, value in parts.items():
        try:
            _check_sizes(key, value, sizes, claims)
            _check_words(key, value, sizes, kept.get("text.vocabulary") or draw.vocabulary(sizes.vocabulary))
        except NumbersError:
            if key not in spare:
                raise
        else:
            kept[key] = value
    return kept


def _check_sizes(key: str, value: Any, sizes: Sizes, claims: Mapping[str, Claim]) -> None:
    """Check that a part tells the sizes that were settled, and that its rows are of one length."""
    told = sizes_in(key, value)
    # Responses may be shorter, and draws may be there for every column of the sheet.
    if key == "rollout.responses" or told.get("max_new_tokens") == sizes.columns:
        told.pop("max_new_tokens", None)
    for size, found in told.items():
        if found != getattr(sizes, size):
            called = "embedding + hidden + 1" if size == "joined" else size
            source = f", as {claims[size].source} says" if size in claims else ""
            raise refusal(key, f"{called} = {found}", f"{getattr(sizes, size)}{source}")
    axes = SHAPES.get(key.rpartition(".")[2].removeprefix("delta_"), ())
    for number, row in enumerate(value if len(axes) == 2 else (), start=1):
        if len(row) != len(value[0]):
            expected = f"{len(value[0])}, as many as in every row"
            raise refusal(f"{key}, row {number}", counted(len(row), "number"), expected)


def _check_words(key: str, value: Any, sizes: Sizes, vocabulary: list[str]) -> None:
    match key.split("."):
        case ["text", "vocabulary"]:
            check_vocabulary(value)
        case ["text", "prompts"]:
            _check_prompts(value, vocabulary)
        case ["rollout", "responses"]:
            _check_responses(value, vocabulary, sizes)


def _check_prompts(prompts: list[list[str]], vocabulary: list[str]) -> None:
    for row, prompt in enumerate(prompts, start=1):
        for item, word in enumerate(prompt, start=1):
            where = f"text.prompts, row {row}, item {item}"
            if word == vocabulary[0]:
                raise refusal(where, shown(word), "a token that does not end the text")
            check_known(where, word, vocabulary[1:])


def _check_responses(responses: list[list[str]], vocabulary: list[str], sizes: Sizes) -> None:
    """Check that every response has words of the vocabulary, not too many, and none behind the end word."""
    for row, response in enumerate(responses, start=1):
        where = f"rollout.responses, row {row}"
        if len(response) > sizes.max_new_tokens:
            raise refusal(where, counted(len(response), "token"), f"at most {sizes.max_new_tokens} (max_new_tokens)")
        for item, word in enumerate(response, start=1):
            if word:  # an empty one leaves it to the draw
                check_known(f"{where}, item {item}", word, vocabulary)
            if word == vocabulary[0] and item < len(response):
                behind = counted(len(response) - item, "token")
                raise refusal(
                    f"{where}, item {item}", f"{shown(word)} and {behind} behind it", "it to end the response"
                )
