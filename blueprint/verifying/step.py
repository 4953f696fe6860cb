"""All files of one training step: joined where they were one batch, each computed again, and what they come to together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from blueprint.dumps import Dump, Minibatch, MinibatchError, in_order, read_dump, require, rows_twice
from blueprint.inputs import dotted
from blueprint.verifying.case import Case, Prepared, Verified
from blueprint.verifying.lines import AGREES, StepLine, first_line, following, step_lines
from blueprint.verifying.logged import ALL
from blueprint.verifying.parts import FEWEST, WHITENED_ROWS
from blueprint.verifying.settings import DEFAULT, Chosen, VerifyOptions, choose, laid_over, shown
from blueprint.verifying.step_causes import causes_in_step
from blueprint.verifying.tiled_passes import Watch, quiet
from blueprint.verifying.verdict import Match, Part, StepVerdict, Verdict, verifier_of

AnyPath = str | PathLike[str]


def read_dumps(paths: Sequence[AnyPath]) -> tuple[list[Dump], dict[Path, str]]:
    """Returns the dumps that could be read, and by path of the others why not."""
    dumps, unread = list[Dump](), dict[Path, str]()
    for path in dict.fromkeys(map(Path, paths)):
        try:
            dumps.append(read_dump(path))
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
    dumps, unread = read_dumps(paths)
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
    return verifier_of(dumps[0]).verify(dumps, options, watch, unread)


def verify_one(dump: Dump, options: VerifyOptions = DEFAULT, watch: Watch = quiet) -> Part:
    """Returns how one dump was verified, and what it came to, with its causes; what only others can tell is left open.

    Raises MinibatchError as `verify_step`, and where the dump cannot be computed again.
    """
    step = verify_dumps([dump], options, watch)
    require(bool(step.parts), next(iter(step.unread.values()), ""))
    return alone(step)


def alone(step: StepVerdict) -> Part:
    """Returns the one file of a step, with the causes that were found."""
    (part,) = step.parts
    return replace(part, verdict=replace(part.verdict, causes=step.causes))


def verify_minibatches(
    batches: Sequence[Minibatch], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies minibatches of one step as parts of one batch."""
    unread = dict(not_read)
    batches, notes = in_order(batches)
    chosen = _one_choice(batches, options)
    case = Case(batches, laid_over(chosen.values), chosen.preset.name, options, watch)
    step, first, causes = _judged(case, case.prepared(), unread)
    notes += filter(None, [rows_twice(batches), _whitened_alone(step)])
    return StepVerdict(
        batches[0].step,
        tuple(Part(Path(each.replayed.batch.path), chosen, each) for each in step.verdicts),
        unread,
        tuple(step.lines),
        first,
        causes,
        lacking=tuple(dict.fromkeys(part for each in step.prepared for part in each.group.lacking)),
        notes=tuple(notes),
    )


def _one_choice(batches: Sequence[Minibatch], options: VerifyOptions) -> Chosen:
    """Returns the conventions of all files. Raises MinibatchError where two files contradict each other."""
    first = choose(batches[0], options)
    for batch in batches[1:]:
        other = choose(batch, options)
        odd, one, two = "library", first.preset.name, other.preset.name
        if one == two:
            keys = [key for key in first.values if other.values[key] != first.values[key]]
            if not keys:
                continue
            odd, one, two = dotted(keys[0]), shown(first.values[keys[0]]), shown(other.values[keys[0]])
        raise MinibatchError(
            f"{batches[0].path} says {odd} = {one} and {batch.path} {odd} = {two}: give the files of one step of one run."
        )
    return first


def _judged(
    case: Case, prepared: Sequence[Prepared], unread: dict[Path, str]
) -> tuple[Verified, StepLine | None, tuple[Match, ...]]:
    """Verifies every file, and looks for what explains the first deviation.

    Where it is the mean and deviation of another batch, and nobody knows whether all files are there, they are asked for.
    """
    by_itself = len(prepared) == 1 and prepared[0].group.whole is not False  # no sign that it is a part of something
    step = _verified(case, case.on_lines(prepared), by_itself, unread)
    first, causes = first_line(step.lines), tuple[Match, ...]()
    if first and not first.early:
        causes = step.verdicts[0].causes if by_itself else causes_in_step(step, first)
    if any(each.beyond for each in causes) and any(each.group.whole is None for each in prepared):
        parts = {id(each.group): replace(each.group, whole=False, moments={}) for each in prepared}
        moved = [Prepared(replace(each.batch, moments={}), parts[id(each.group)], each.shares) for each in prepared]
        return _judged(case, moved, unread)
    if any(each.rest for each in causes):
        step = replace(
            step,
            lines=[
                replace(each, line=following(each.line)) if each.deviating and each != first else each
                for each in step.lines
            ],
        )
    return step, first, causes


def _verified(case: Case, prepared: Sequence[Prepared], explain: bool, unread: dict[Path, str]) -> Verified:
    kept, verdicts = list[Prepared](), list[Verdict]()
    for each in prepared:
        try:
            verdicts.append(case.verified(each, explain))
            kept.append(each)
        except MinibatchError as error:
            unread[Path(each.batch.path)] = str(error)
    return Verified(case, kept, verdicts, step_lines(verdicts, ALL))


def _whitened_alone(step: Verified) -> str | None:
    """Says where files of which others are missing were whitened without these: their metadata err, or what wrote them does."""
    found = [
        Path(each.batch.path).name
        for each, verdict in zip(step.prepared, step.verdicts, strict=True)
        for line in verdict.lines
        if each.group.whole is False and line.compared.name == "advantages" and line.compared.cells >= FEWEST
        if line.says == AGREES and step.case.settings["whiten_advantages"] != "off" and not verdict.replayed.started
    ]
    if not found:
        return None
    which = found[0] if len(found) == 1 else f"each of {len(found)} files, {found[0]} the first,"
    return (
        f"advantages are whitened over the rows of {which} alone, and not over "
        f"{WHITENED_ROWS[step.case.scope.whitens]}, though files of these are not there: "
        "either the metadata say wrongly what belongs together, or this is a fault"
    )
