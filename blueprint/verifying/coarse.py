"""What is said of quantities that are too coarse to tell: how many, which, and why."""

from collections.abc import Iterator, Sequence

from blueprint.verifying.clip_edges import NAMES as SHARES
from blueprint.verifying.compare import SHARE, Compared
from blueprint.verifying.lines import NEEDS_OTHERS, TOO_COARSE, Line
from blueprint.verifying.tolerances import HALF


def summary(lines: Sequence[Line]) -> str:
    """Says how many of the quantities agree, where nothing deviates; if none does, that must not read like success."""
    coarse = sum(line.says == TOO_COARSE for line in lines)
    open_ = sum(line.says == NEEDS_OTHERS for line in lines)
    count = len(lines) - coarse - open_
    if open_:
        others = f", {_of_some(coarse)} too coarse to tell" if coarse else ""
        return f"{count} agree{'s' if count == 1 else ''}, {_of_some(open_)} left open{others}."
    if not coarse:
        return f"All {count} logged quantities agree."
    if not count:
        return f"Nothing can be said to agree: {_of(coarse)} too coarse to tell."
    return f"{count} agree{'s' if count == 1 else ''}; {_of_some(coarse)} too coarse to tell."


def reasons(lines: Sequence[Line]) -> Iterator[str]:
    """Yields a line for each quantity that is too coarse, and what to do about it."""
    coarse = [line for line in lines if line.says == TOO_COARSE]
    yield from (f"  {line.called}: {line.why or why(line.compared)}" for line in coarse)
    if any(line.compared.dtype in HALF for line in coarse):
        yield f"  A fault of {2 * SHARE:.0%} could hide in what is too coarse: write float32 to tell.".replace(
            "%", " %"
        )


def why(compared: Compared) -> str:
    """Says why a quantity is too coarse to tell."""
    off, share = f"it is off by {_share(compared.largest, compared)}", _share(compared.rounding, compared)
    if compared.largest > compared.rounding:
        return f"{off}; {_explained(compared, share)}"
    nothing = compared.logged is not None and abs(compared.logged) <= compared.rounding
    return f"rounding in {compared.dtype} may move it by {share}{', and 0 would agree, too' if nothing else ''}"


def _explained(compared: Compared, share: str) -> str:
    """Says what may explain more than what it is made of does."""
    if compared.name in SHARES:
        return "rounding decides whether some of its words are clipped"
    if compared.largest <= compared.rounding + compared.extra:
        return "that it was itself rounded when it was written explains that"
    dtype = compared.dtype
    return f"rounding of its words in {dtype} explains {share}, arithmetic in {dtype} might explain the rest"


def _share(width: float, compared: Compared) -> str:
    if not compared.size:
        return f"{width:.2g}"
    percent = 100 * width / compared.size
    of = "" if compared.logged is not None else f" of the mean size of its {compared.axes.cell}s"
    return (f"{percent:.2g} %" if percent < 100 else f"{percent:,.0f} %") + of


def _of_some(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'}"


def _of(count: int) -> str:
    return "the one logged quantity is" if count == 1 else f"all {count} logged quantities are"
