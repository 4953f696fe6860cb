"""Check that every given part has the shape the sizes ask for, and drop built-in parts that no longer have it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from blueprint.inputs.errors import NumbersError, counted, nearest, refusal, shown, suggestion
from blueprint.workbooks.rlhf_ppo.inputs import draw
from blueprint.workbooks.rlhf_ppo.inputs.sizes import SHAPES, Sizes


def fitting(parts: Mapping[str, Any], sizes: Sizes, spare: Collection[str]) -> dict[str, Any]:
    """Return the parts that fit the sizes and each other, without those of `spare` that do not.

    Raises:
        NumbersError: if a part that may not be dropped does not fit.
    """
    kept: dict[str, Any] = {}
    for key, value in parts.items():
        try:
            _check(key, value, sizes, kept.get("text.vocabulary") or draw.vocabulary(sizes.vocabulary))
        except NumbersError:
            if key not in spare:
                raise
        else:
            kept[key] = value
    return kept


def _check(key: str, value: Any, sizes: Sizes, vocabulary: list[str]) -> None:
    match key.split("."):
        case ["sizes", _]:
            return  # settled before
        case ["text", "vocabulary"]:
            _check_count(key, len(value), sizes.vocabulary, "word")
            check_vocabulary(value)
        case ["text", "prompts"]:
            _check_prompts(value, vocabulary, sizes)
        case ["rollout", "responses"]:
            _check_responses(value, vocabulary, sizes)
        case ["rollout", "draws"] if value and {len(row) for row in value} == {sizes.columns}:
            _check_shape(key, value, ("episodes", "columns"), sizes)
        case [_, part]:
            _check_shape(key, value, SHAPES[part.removeprefix("delta_")], sizes)


def check_vocabulary(words: Sequence[str]) -> None:
    """Check that a sheet can tell the words of a vocabulary apart."""
    seen: dict[str, str] = {}
    for word in words:
        twin = seen.setdefault(word.casefold(), word)
        if twin is not word:
            # MATCH does not tell capitals from small letters, so it would find the first for both.
            raise refusal("text.vocabulary", f"{shown(twin)} and {shown(word)}", "words that differ by more than case")


def _check_prompts(prompts: list[list[str]], vocabulary: list[str], sizes: Sizes) -> None:
    _check_count("text.prompts", len(prompts), sizes.episodes, "prompt")
    longest = max(map(len, prompts))
    if longest != sizes.prompt:
        raise refusal("text.prompts", f"a longest prompt of {counted(longest, 'word')}", str(sizes.prompt))
    for row, prompt in enumerate(prompts, start=1):
        for item, word in enumerate(prompt, start=1):
            where = f"text.prompts, row {row}, item {item}"
            if word == vocabulary[0]:
                raise refusal(where, shown(word), "a word that does not end the text")
            check_known(where, word, vocabulary[1:])


def check_known(where: str, word: str, words: Sequence[str]) -> None:
    """Check that a word is one of the vocabulary."""
    if word not in words:
        hint = suggestion(nearest(word, words), words)
        raise NumbersError(f"{where}: found {shown(word)}, not in the vocabulary, {hint}")


def _check_responses(responses: list[list[str]], vocabulary: list[str], sizes: Sizes) -> None:
    """Check that every response has words of the vocabulary, not too many, and none behind the end word."""
    _check_count("rollout.responses", len(responses), sizes.episodes, "response")
    for row, response in enumerate(responses, start=1):
        where = f"rollout.responses, row {row}"
        if len(response) > sizes.max_new_tokens:
            raise refusal(where, counted(len(response), "word"), f"at most {sizes.max_new_tokens} (max_new_tokens)")
        for item, word in enumerate(response, start=1):
            if word:  # an empty one leaves it to the draw
                check_known(f"{where}, item {item}", word, vocabulary)
            if word == vocabulary[0] and item < len(response):
                behind = counted(len(response) - item, "word")
                raise refusal(
                    f"{where}, item {item}", f"{shown(word)} and {behind} behind it", "it to end the response"
                )


def _check_count(where: str, found: int, expected: int, noun: str) -> None:
    if found != expected:
        raise refusal(where, counted(found, noun), str(expected))


def _check_shape(key: str, value: Any, names: tuple[str, ...], sizes: Sizes) -> None:
    expected = [getattr(sizes, name) for name in names]
    meaning = " by ".join("embedding + hidden + 1" if name == "joined" else name for name in names)
    match expected:
        case [length] if len(value) != length:
            raise refusal(key, counted(len(value), "number"), f"{length} ({meaning})")
        case [rows, width]:
            _check_rows(key, value, rows, width, meaning)


def _check_rows(key: str, value: list[list[float]], rows: int, width: int, meaning: str) -> None:
    widths = [len(row) for row in value]
    if len(set(widths)) > 1:
        odd = next(row for row, found in enumerate(widths) if found != width)
        raise refusal(f"{key}, row {odd + 1}", counted(widths[odd], "number"), f"{width}, as many as in every row")
    if widths != [width] * rows:
        found = f"{len(widths)} by {widths[0] if widths else 0}"
        raise refusal(key, found, f"{rows} by {width} ({meaning})")
