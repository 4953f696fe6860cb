"""A pair of responses in a row of one's own: parted from the prompt, which stands before both or in a column of its own."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blueprint.inputs import NumbersError
from blueprint.quoting import unquoted
from blueprint.workbooks.common.own_data.cells_and_tokens import listed, text_of, tokens_of
from blueprint.workbooks.common.own_data.table_file import Record

ASSISTANT = "\n\nAssistant:"
"""What stands before each answer in the transcripts of Anthropic/hh-rlhf."""
Content = str | list[Any]


class Pair(NamedTuple):
    """A prompt, and both responses to it: each a text, or a list of tokens."""

    where: str
    prompt: str
    chosen: Content
    rejected: Content


def pair_of(row: Record, names: Mapping[str, str]) -> Pair:
    """Reads a row of a pair. names: those of the columns of prompt, chosen and rejected; without one of prompts both begin with it.

    Raises:
        NumbersError: if a response is missing, both are the same, one is messages and the other text, or the prompt is not
            where it must be.
    """
    prompt, chosen, rejected = (listed(row.cells.get(names.get(what, ""))) for what in ("prompt", "chosen", "rejected"))
    for what, cell in (("chosen", chosen), ("rejected", rejected)):
        if cell is None or cell == "" or cell == []:
            raise NumbersError(f"{row.where}: there is no {what} response; write both of a pair, or leave the row out.")
    asked, responses = _parted(row.where, prompt, [chosen, rejected])
    if responses[0] == responses[1]:
        same = unquoted(" ".join(tokens_of(responses[0])), 30)
        raise NumbersError(
            f"{row.where}: chosen and rejected are the same ({same}), so that there is nothing to prefer; leave the row out."
        )
    return Pair(row.where, asked, *responses)


def _parted(where: str, prompt: Any, responses: list[Any]) -> tuple[str, list[Content]]:
    """Returns the prompt, and what comes behind it in both."""
    kinds = {_is_messages(each) for each in responses}
    if len(kinds) > 1:
        raise NumbersError(f"{where}: one response is a list of messages and the other is not; write both in one way.")
    if kinds == {True}:
        return _of_messages(where, prompt, responses)
    if any(isinstance(each, list) for each in responses):
        return text_of(prompt), [each if isinstance(each, list) else str(each) for each in responses]
    texts = [str(each) for each in responses]
    return _of_transcripts(where, texts) if prompt in (None, "") else _behind(where, prompt, texts)


def _is_messages(cell: Any) -> bool:
    return isinstance(cell, list) and bool(cell) and all(isinstance(each, dict) and "content" in each for each in cell)


def _of_messages(where: str, prompt: Any, responses: list[list[Any]]) -> tuple[str, list[Content]]:
    """Parts conversations: what both begin with is the prompt; a prompt that is given must end it, if there is any."""
    shared = _shared(responses)
    rest = [each[len(shared) :] for each in responses]
    begins = text_of(shared) if shared else ""
    asked = begins if prompt in (None, "") else text_of(prompt)
    if shared and asked != begins:
        raise NumbersError(
            f"{where}: the prompt ({unquoted(asked, 30)}) is not what both conversations begin with "
            f"({unquoted(begins, 30)}); leave the column of prompts out, or the question out of both."
        )
    if not asked or not all(rest):
        raise NumbersError(
            f"{where}: the two conversations do not part behind a question that they share; write the prompt, or messages that "
            f"begin with it."
        )
    return asked, [" ".join(map(text_of, each)) for each in rest]


def _shared(responses: Sequence[list[Any]]) -> list[Any]:
    """Returns the messages with which both begin, but for answers: a question is the last of them."""
    count = _alike(*responses)
    while count and responses[0][count - 1].get("role") == "assistant":
        count -= 1
    return responses[0][:count]


def _behind(where: str, prompt: Any, texts: list[str]) -> tuple[str, list[Content]]:
    """Leaves the prompt out of both texts, where both begin with it."""
    asked = text_of(prompt)
    plain = [text_of(each) for each in texts]
    begins = [each.startswith(f"{asked} ") for each in plain]
    if len(set(begins)) > 1:
        raise NumbersError(
            f"{where}: one response begins with the prompt ({unquoted(asked, 30)}) and the other does not; write it before both, "
            f"or before neither."
        )
    return asked, [each[len(asked) + 1 :] if all(begins) else each for each in plain]


def _of_transcripts(where: str, texts: list[str]) -> tuple[str, list[Content]]:
    """Parts texts that begin alike: before the last answer of a transcript, or behind the words that both have."""
    parted = [each.rpartition(ASSISTANT) for each in texts]
    if all(mark for _, mark, _ in parted) and len({before for before, _, _ in parted}) == 1:
        return text_of(parted[0][0]), [text_of(answer) for _, _, answer in parted]
    words = [text_of(each).split() for each in texts]
    count = _alike(*words)
    if not 0 < count < min(map(len, words)):
        raise NumbersError(
            f"{where}: there is no prompt, and the two responses do not begin alike and go on differently; write the prompt in a "
            f"column."
        )
    return " ".join(words[0][:count]), [" ".join(each[count:]) for each in words]


def _alike(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Counts the entries with which both begin."""
    parted = (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(parted, min(len(one), len(other)))
