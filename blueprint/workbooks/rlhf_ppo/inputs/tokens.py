"""Check that the numbers of level "per-token" belong to the same words, and freeze them."""

from blueprint.inputs.errors import check_count, counted, refusal
from blueprint.inputs.limits import LIMITS, LONGEST_TEXT
from blueprint.inputs.result import Ragged
from blueprint.workbooks.common.conventions.table import plain
from blueprint.workbooks.rlhf_ppo.inputs.files import PerToken, TokenFile
from blueprint.workbooks.rlhf_ppo.inputs.result import TokenNumbers


def token_numbers(name: str, file: TokenFile) -> TokenNumbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if tables differ in shape, or there are too many episodes or words.
    """
    tokens = file.per_token
    _check_words(tokens.words)
    _check_alike(tokens)
    advantages, ratios = (file.cases.advantages, file.cases.ratios) if file.cases else ([], [])
    if len(advantages) != len(ratios):
        raise refusal("cases.ratios", counted(len(ratios), "number"), f"{len(advantages)}, as many as advantages")
    return TokenNumbers(
        name=name,
        title=file.title or name,
        about=file.about,
        words=tuple(map(tuple, tokens.words)),
        logprobs_old=_frozen(tokens.logprobs_old),
        logprobs_ref=_frozen(tokens.logprobs_ref),
        values=_frozen(tokens.values),
        scores=_frozen(tokens.scores),
        case_advantages=tuple(advantages),
        case_ratios=tuple(ratios),
        ppo=plain(file.ppo),
    )


def _check_words(words: list[list[str]]) -> None:
    check_count("per_token.words", len(words), "episode", *LIMITS["episodes"])
    for row, episode in enumerate(words, start=1):
        check_count(f"per_token.words, row {row}", len(episode), "word", 1, LONGEST_TEXT)


def _check_alike(tokens: PerToken) -> None:
    """Check that every table has an entry per word."""
    expected = [len(episode) for episode in tokens.words]
    for key in ("logprobs_old", "logprobs_ref", "values", "scores"):
        rows: list[list[float]] = getattr(tokens, key)
        if len(rows) != len(expected):
            raise refusal(f"per_token.{key}", counted(len(rows), "row"), f"{len(expected)}, as many as words has")
        for row, (found, length) in enumerate(zip(map(len, rows), expected, strict=True), start=1):
            if found != length:
                raise refusal(f"per_token.{key}, row {row}", counted(found, "number"), f"{length}, one per word")


def _frozen(rows: list[list[float]]) -> Ragged:
    return tuple(map(tuple, rows))
