"""Which number of a step of fine-tuning went wrong first, all being computed again; and the causes that are tried."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from blueprint.dumps import whole_of
from blueprint.verifying import (
    Given,
    Judge,
    Settings,
    SmallTrial,
    StepVerdict,
    Try,
    VerifyOptions,
    Watch,
    Way,
    Ways,
    given_of,
    of_equations,
    one_thread,
    shown,
    verdict_of,
    verify_parts,
)
from blueprint.workbooks.sft.dumps import FineTuned
from blueprint.workbooks.sft.schema import SFT, sft_presets
from blueprint.workbooks.sft.verifying.recompute import ALL, EQUATIONS, KNOWN, TEXTS, recompute

SLIPS: tuple[tuple[str, Ways], ...] = (
    ("every position counted, pads and prompt, too", {"mask": "all"}),
    ("the token behind each text counted, too", {"mask": "one_more"}),
    ("the last token of each text left out, as where the end token is taken for a pad", {"mask": "no_last"}),
    ("the first token of each text left out", {"mask": "no_first"}),
    ("log-probs one position late against the mask", {"moved": 1}),
    ("log-probs one position early against the mask", {"moved": -1}),
)
SAYS = {
    "tokens": "a mean over all tokens that count", "microbatches": "the mean of the means of microbatches",
    "row_means": "the mean of each text's own mean", "row_sums": "the sum over each text, and the mean over texts",
    "labels": "divided by the labels before the shift, first tokens among them",
    "nonzero": "divided by the tokens whose probability is not 1",
}  # fmt: skip
"""By word of loss.normaliser, what it is."""
NUMBERS: Mapping[str, tuple[float, ...]] = {"loss.mean_eps": (0.0, 1e-8), "microbatches": (1.0, 2.0, 4.0, 8.0)}
READ = ("loss.normaliser", "loss.mean_eps", "loss.dft", "microbatches")
"""Settings that a loss of log-probs and a mask reads; which tokens count, the mask says."""
MOST = 8


def tries(
    batch: FineTuned, settings: Settings, name: str, given: Given, whole: FineTuned | None
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it. whole: all files of the step, where there are several.
    """
    slips = [Try(label, settings, ways) for label, ways in SLIPS]
    if name != "total_loss":
        yield [*slips, Try(f"the opposite sign of {name}", settings, {"factor": {name: -1.0}})]
        if name in EQUATIONS.live:
            yield list(of_equations(EQUATIONS, settings, name, KNOWN))
        return
    yield [*_shares(batch, settings, whole), *_settings(settings), *slips, *_factors(batch, settings)]
    yield list(of_equations(EQUATIONS, settings, name, KNOWN))
    yield list(_presets(settings))


def _shares(batch: FineTuned, settings: Settings, whole: FineTuned | None) -> Iterator[Try]:
    """Yields other counts of which the loss may be a mean."""
    if batch.share is not None:
        yield Try("a mean over this file alone, not its share of the larger batch's", settings, {"over": 0})
        if batch.share.ranks > 1:
            over = batch.share.tokens or batch.share.responses
            yield Try("the share of its own rank, not multiplied with the ranks", settings, {"over": over})
    if whole is not None:
        yield Try("a share of the mean over the tokens of all files of the step", settings, {"over": whole.many})
    yield Try("divided by the number of positions, pads and prompt among them", settings, {"over": batch.mask.size})


def _settings(settings: Settings) -> Iterator[Try]:
    """Yields every setting that is read with its other values."""
    for key in READ:
        of = [key] if key != "microbatches" else ["loss.normaliser", key]
        values: Sequence[float | str] = tuple(SFT[key].words) or NUMBERS[key]
        for value in values:
            if value == settings[key] or (key == "microbatches" and value == 1):
                continue
            changes = {of[0]: "microbatches", key: value} if len(of) > 1 else {key: value}
            says = f": {SAYS[value]}" if isinstance(value, str) and value in SAYS else ""
            said = " and ".join(f"{_dotted(each)} = {shown(one)}" for each, one in changes.items())
            yield Try(f"{said}{says}", {**settings, **changes})


def _dotted(key: str) -> str:
    return key if "." in key else f"sft.{key}"


def _factors(batch: FineTuned, settings: Settings) -> Iterator[Try]:
    """Yields a loss of the other sign, multiplied or divided, as by the microbatches of an update or the ranks."""
    yield Try("the opposite sign of the loss", settings, {"factor": {"total_loss": -1.0}})
    for count in range(2, MOST + 1):
        yield Try(f"everything multiplied by {count}", settings, {"factor": {"total_loss": float(count)}})
        yield Try(f"everything divided by {count}", settings, {"factor": {"total_loss": 1.0 / count}})


def _presets(settings: Settings) -> Iterator[Try]:
    """Yields what other presets do, where something that is read is another value."""
    for preset in sft_presets().presets:
        values = {key: each for key, each in sft_presets().preset(preset).values.items() if key in READ}
        if any(each != settings[key] for key, each in values.items()):
            yield Try(f"the conventions of {preset}", {**settings, **values})


def trial_of(
    batch: FineTuned, settings: Settings, options: VerifyOptions, steps: Sequence[FineTuned] = ()
) -> SmallTrial:
    """Computes a step again under settings, to be compared with what its file logged; steps: all files of the step."""
    again = partial(recompute, device=options.device)
    found = again(batch, settings, sized=True)
    judge, given = Judge(batch, found, ALL, options.tolerance, TEXTS), given_of(batch, ALL)
    return SmallTrial(batch, settings, found, judge, given, whole_of(batch, steps), again, tries, ("total_loss",), ALL)


@one_thread()
def verify_steps(
    batches: Sequence[FineTuned], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step, each with its own texts."""
    return verify_parts(Way(ALL, trial_of, verdict_of), batches, options, watch, not_read)
