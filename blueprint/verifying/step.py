"""The dumps of one training step, read and verified together by their kind."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from blueprint.dumps import Dump, MinibatchError, as_computed, decimals_of_all, read_dump, require
from blueprint.verifying.progress import Watch, quiet
from blueprint.verifying.settings import DEFAULT, VerifyOptions
from blueprint.verifying.verdict import Part, StepVerdict, verifier_of

AnyPath = str | PathLike[str]


def read_dumps(paths: Sequence[AnyPath], above_zero: bool = False) -> tuple[list[Dump], dict[Path, str]]:
    """Returns the dumps that could be read, and by path of the others why not; above_zero: as `read_dump`."""
    dumps, unread = list[Dump](), dict[Path, str]()
    for path in dict.fromkeys(map(Path, paths)):
        try:
            dumps.append(read_dump(path, above_zero))
        except MinibatchError as error:
            unread[path] = str(error)
    return dumps, unread


def verify_step(paths: Sequence[AnyPath], options: VerifyOptions = DEFAULT, watch: Watch = quiet) -> StepVerdict:
    """Computes the files of one step again and compares them with everything that they logged.

    A file that cannot be read stops none of the others: it is named in `unread`.

    Raises:
        MinibatchError: an unknown preset, an override that is none, no preset where a file does not say its library; files of
            several steps, libraries, kinds or settings; or two that both say they are the same part of the step.
    """
    dumps, unread = read_dumps(paths, options.above_zero)
    return verify_dumps(dumps, options, watch, unread)


def verify_dumps(
    dumps: Sequence[Dump],
    options: VerifyOptions = DEFAULT,
    watch: Watch = quiet,
    unread: Mapping[Path, str] = MappingProxyType({}),
) -> StepVerdict:
    """Verifies the dumps of one step that were read, as `verify_step`; `unread` are the others."""
    if not dumps:
        return StepVerdict(None, (), unread)
    for each in dumps:
        require(
            each.kind == dumps[0].kind,
            f"{dumps[0].path} and {each.path} are dumps of different kinds, {dumps[0].kind} and {each.kind}: verify them apart.",
        )
    return verifier_of(dumps[0]).verify(_as_written(dumps), options, watch, unread)


def _as_written(dumps: Sequence[Dump]) -> list[Dump]:
    """Returns dumps with what their numbers count as: tensors that were written wider, and logged numbers that were rounded."""
    decimals = decimals_of_all(value for each in dumps for value in each.logged.values())
    found = [as_computed(each) for each in dumps]
    if not decimals:
        return found
    half = f"{0.5 * 10**-decimals:.{decimals + 1}f}"
    note = f"The logged numbers are rounded to {decimals} decimals: each counts as up to {half} off, 0 and 0.5, too."
    return [replace(each, decimals=decimals, notes=(*each.notes, note)) for each in found]


def verify_one(dump: Dump, options: VerifyOptions = DEFAULT) -> Part:
    """Returns how one dump was verified, and what it came to, with its causes; what only others can tell is left open.

    Raises MinibatchError as `verify_step`, and where the dump cannot be computed again.
    """
    step = verify_dumps([dump], options)
    require(bool(step.parts), next(iter(step.unread.values()), ""))
    return alone(step)


def alone(step: StepVerdict) -> Part:
    """Returns the one file of a step, with the causes that were found."""
    (part,) = step.parts
    return replace(part, verdict=replace(part.verdict, causes=step.causes))
