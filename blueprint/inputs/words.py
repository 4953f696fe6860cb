"""What holds of tokens in any numbers file: a sheet must tell them apart, and know them."""

from collections.abc import Sequence

from blueprint.inputs.errors import NumbersError, nearest, refusal, shown, suggestion


def check_vocabulary(words: Sequence[str]) -> None:
    """Check that a sheet can tell the words of a vocabulary apart."""
    seen: dict[str, str] = {}
    for word in words:
        twin = seen.setdefault(word.casefold(), word)
        if twin is not word:
            # MATCH does not tell capitals from small letters, so it would find the first for both.
            raise refusal("text.vocabulary", f"{shown(twin)} and {shown(word)}", "tokens that differ by more than case")


def check_known(where: str, word: str, words: Sequence[str]) -> None:
    """Check that a word is one of the vocabulary."""
    if word not in words:
        hint = suggestion(nearest(word, words), words)
        raise NumbersError(f"{where}: found {shown(word)}, not in the vocabulary, {hint}")
