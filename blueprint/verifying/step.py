"""All files of one training step: joined where they were one batch, each computed again, and what they come to together; what
explains a deviation is looked for once for all of them.

What files share is asked first: over which rows they were whitened, and what their losses were divided by, or multiplied with.
Then the convention that explains the joined rows, or, where a number deviates, the file in which it first does. Causes that
were found in one file are held against all of them: what they refute is no cause.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from blueprint.dumps import (
    Dump,
    Minibatch,
    MinibatchError,
    Place,
    Share,
    in_order,
    joined,
    key_of,
    read_dump,
    require,
    rows_twice,
)
from blueprint.inputs import dotted
from blueprint.verifying.compare import AGREES, DIFFERS, Line, StepLine, first_line, following, settled, step_lines
from blueprint.verifying.logged import ALL, TENSORS
from blueprint.verifying.parts import (
    BATCH,
    FEWEST,
    MICROBATCH,
    MINIBATCH,
    RANK,
    WHITENED_ROWS,
    Scope,
    group_of,
    share_among,
)
from blueprint.verifying.settings import DEFAULT, Chosen, VerifyOptions, choose, laid_over, shown
from blueprint.verifying.tiled_passes import Watch, quiet
from blueprint.verifying.verdict import Match, Part, StepVerdict, Verdict, verifier_of
from blueprint.verifying.verify import Case, Prepared, Verified, match_of

ELSEWHERE = 3
"""So many other files a mistake that is no setting is looked for in: each asks for a whole search."""
TYPED = 0
"""The rank of what somebody typed or did: one setting or one slip, nothing fitted."""

Look = Callable[[Verified, StepLine, Prepared], tuple[Match, ...]]
"""Looks in one file for what explains the first deviation of a step."""


def in_all_files(step: Verified, first: StepLine, at: Prepared, look: Look) -> tuple[Match, ...]:
    """Returns what explains the first deviation in a file and is not refuted by another; of these, what leaves the least.

    look: looks for it in one file; `at` is the first that deviates.
    """
    found = look(step, first, at)
    if any(each.beyond for each in found):
        return found
    settings = [held for each in found if each.changes and (held := _under(step, first, each)) is not None]
    slips = _of_others(step, first, at, [each for each in found if not each.changes], look)
    every = {each.said: each for each in (*settings, *slips)}
    kept = [every[each.said] for each in found if each.said in every]
    fewest = min((len(each.still) for each in kept), default=0)
    return tuple(each for each in kept if len(each.still) == fewest)


def _under(step: Verified, first: StepLine, match: Match) -> Match | None:
    """Returns a setting with what deviates under it in any file; None where a file that deviates does not agree with it.

    Files that agree as they are may be those in which nothing was done otherwise, as on another rank; but a number that was fitted
    to one file must hold in all of them.
    """
    case = step.case.under(match.changes)
    try:
        made = [_as_far_as_known(case, case.verified(each), first.name) for each in case.on_lines(case.prepared())]
    except MinibatchError:
        return None
    by_path = {each.replayed.batch.path: each for each in made}
    pairs = [(straight, by_path[straight.replayed.batch.path]) for straight in step.verdicts]
    if any(_differs(under, first.name) for straight, under in pairs if _differs(straight, first.name)):
        return None
    against = [straight for straight, under in pairs if _unsettled(under) > _unsettled(straight)]
    against = [each for each in against if not _differs(each, first.name)]
    if against and match.rank > TYPED:
        return None
    kept = [straight if straight in against else under for straight, under in pairs]
    still = min(match_of(match.said, kept, first.name).still, _beside(step, first.name), key=len)
    count = len(step.verdicts) - len(against)
    these = f" in {'that file' if count == 1 else f'those {count} files'} alone ({len(against)} agree without it)"
    return replace(match, said=f"{match.said}{these if against else ''}", still=still)


def _as_far_as_known(case: Case, made: Verdict, name: str) -> Verdict:
    """Returns a verdict; where nothing says which rows were whitened together, the one that leaves their mean and spread open."""
    if not _differs(made, name) or made.replayed.batch.place is not None:
        return made
    left = case.verdict(replace(made.replayed.batch, moments={}), False, explain=False)
    return left if name in left.left_open else made


def _of_others(step: Verified, first: StepLine, at: Prepared, found: Sequence[Match], look: Look) -> Iterator[Match]:
    """Yields mistakes that are no settings, those that are found in other files that deviate, too."""
    others = list(_of_each_part(step, first, at)) if found else []
    also = [{each.said for each in look(step, first, other)} for other in others[:ELSEWHERE]]
    left, tried_on = _beside(step, first.name), 1 + ELSEWHERE if len(others) > ELSEWHERE else 0
    for each in found:
        if all(each.said in said for said in also):
            yield replace(each, still=tuple((dict(each.still) | dict(left)).items()), tried_on=tried_on)


def _of_each_part(step: Verified, first: StepLine, at: Prepared) -> Iterator[Prepared]:
    """Yields a file that deviates of each part of the step but the first's own; numbers are of a file, tensors of files that were
    whitened together, in an epoch."""
    wrong = {each.replayed.batch.path for each in step.verdicts if _differs(each, first.name)}
    number = first.line.compared.logged is not None

    def part_of(each: Prepared) -> object:
        if number or each.batch.place is None:
            return each.batch.path
        return (*group_of(each.batch, step.case.scope.whitens), key_of(each.batch)[1])

    seen = {part_of(at)}
    for each in step.prepared:
        if each.batch.path in wrong and part_of(each) not in seen:
            seen.add(part_of(each))
            yield each


def _beside(step: Verified, name: str) -> tuple[tuple[str, float], ...]:
    """Returns what else differs by itself, from the files' own rows before it, and by how much."""
    found: dict[str, float] = {}
    for line in (line for each in step.verdicts for line in each.lines):
        if line.says == DIFFERS and line.compared.name != name:
            found[line.compared.name] = max(found.get(line.compared.name, 0.0), line.compared.largest)
    return tuple(found.items())


def _differs(verdict: Verdict, name: str) -> bool:
    return any(line.compared.name == name and line.says == DIFFERS for line in verdict.lines)


def _unsettled(verdict: Verdict) -> int:
    return sum(not settled(line) for line in verdict.lines)


PARTS = Scope("", shares=True)
"""Shares of a minibatch as verl has them: tokens and responses of all its files, times the ranks."""


def causes_in_step(step: Verified, first: StepLine) -> tuple[Match, ...]:
    """Returns what explains the first deviation of a step, the best first."""
    assert first.first is not None
    if first.line.says != DIFFERS:
        return ()
    at = next(each for each in step.prepared if each.batch.path == first.first[1].path)
    if ALL[first.name] not in TENSORS:
        return tuple(_divided_otherwise(step, first.name)) or in_all_files(step, first, at, _in_one)
    return tuple(_whitened_over_others(step, first, at)) or in_all_files(step, first, at, _of_joined)


def _in_one(step: Verified, first: StepLine, at: Prepared) -> tuple[Match, ...]:
    """Returns what explains a number in a file."""
    return step.case.verified(at, explain=True).causes


def _of_joined(step: Verified, first: StepLine, at: Prepared) -> tuple[Match, ...]:
    """Returns what explains the joined rows of the file's own epoch; of a part of them, what does not hang on whitening."""
    if at.group.whole is False:
        return _unwhitened(step, at)
    mine = [replace(each.batch, moments={}) for each in step.prepared if _together(step, each.batch, at.batch)]
    found = step.case.verdict(joined(mine, mine[0].path), at.group.whole)
    if first.name in found.left_open:  # by the mean and deviation of a batch that may not all be there
        return (Match("whitening over more than these files", 0.0, beyond=True),)
    causes = found.causes if found.first and found.first.compared.name == first.name else ()
    return causes or (_unwhitened(step, at) if at.group.whole is None else ())


def _unwhitened(step: Verified, at: Prepared) -> tuple[Match, ...]:
    """Returns what explains what of a file does not hang on whitening: the returns, where γ is forgotten."""
    tensors = {name: each for name, each in at.batch.tensors.items() if name != "advantages"}
    found = step.case.verdict(replace(at.batch, tensors=tensors, logged={}), False)
    return found.causes if found.first and found.first.says == DIFFERS else ()


def _together(step: Verified, batch: Minibatch, other: Minibatch) -> bool:
    one, two = ((*group_of(each, step.case.scope.whitens), key_of(each)[1]) for each in (batch, other))
    return batch is other if batch.place is None or other.place is None else one == two


def _whitened_over_others(step: Verified, first: StepLine, at: Prepared) -> Iterator[Match]:
    """Yields other rows that may have been whitened together: of a microbatch, a minibatch, a rank, of all ranks."""
    own = step.case.scope.whitens
    if first.name != "advantages" or at.batch.place is None:
        return
    seen = {_partition(step, own)}
    for scope in (MICROBATCH, MINIBATCH, RANK, BATCH):
        if (parts := _partition(step, scope)) in seen:
            continue
        seen.add(parts)
        others = step.case.prepared(scope)
        here = next(each for each in others if each.batch.path == at.batch.path)
        if here.group.whole is not False and (found := _if_all_agree(step, [here, *others], first.name)):
            yield match_of(
                f"whitening over {WHITENED_ROWS[scope]}, instead of over {WHITENED_ROWS[own]}", found, first.name
            )


def _partition(step: Verified, scope: str) -> tuple[tuple[str, ...], ...]:
    """Returns which files are whitened together under a scope, in one epoch."""
    found: dict[tuple[int, ...], list[str]] = {}
    for each in step.case.placed:
        found.setdefault((*group_of(each, scope), key_of(each)[1]), []).append(each.path)
    return tuple(sorted(tuple(each) for each in found.values()))


def _if_all_agree(step: Verified, files: Sequence[Prepared], name: str) -> list[Verdict]:
    """Returns what files come to if a quantity agrees in all of them, else nothing: most causes fail in the first."""
    found = list[Verdict]()
    for each in files:
        try:
            found.append(step.case.verified(each))
        except MinibatchError:
            return []
        if any(line.compared.name == name and not line.compared.agrees for line in found[-1].lines):
            return []
    return found


def _divided_otherwise(step: Verified, name: str) -> Iterator[Match]:
    """Yields what else a loss may be divided by in every file, or else a factor by which it is off in every file."""
    for said, share in _shares(step):
        changed = [replace(each, batch=replace(each.batch, share=share(each.batch))) for each in step.prepared]
        other = [each.batch.share for each in changed] != [each.batch.share for each in step.prepared]
        if other and (found := _if_all_agree(step, changed, name)):
            yield match_of(said, found, name)
            return
    yield from _factors(step, name)


def _shares(step: Verified) -> Iterator[tuple[str, Callable[[Minibatch], Share | None]]]:
    """Yields other denominators, and how a report puts them."""

    def mates(batch: Minibatch, start: int) -> Share:
        together = (each for each in step.case.placed if key_of(each)[start:3] == key_of(batch)[start:3])
        return share_among(list(together), PARTS)

    yield "the mean over the tokens of each microbatch, not its share of the minibatch's", lambda batch: None
    yield "each microbatch's share of the mean over its minibatch, of all ranks", lambda batch: mates(batch, 1)
    yield (
        "each microbatch's share of the mean over its minibatch, of its own rank only",
        lambda batch: replace(mates(batch, 0), ranks=1.0),
    )


def _factors(step: Verified, name: str) -> Iterator[Match]:
    """Yields how many microbatches or ranks the logged number was multiplied with, or divided by."""
    wrong = [line for each in step.verdicts for line in each.lines if line.says == DIFFERS]
    of_it = [line for line in wrong if line.compared.name == name]
    for factor, said in _counted(step):
        others = [
            line.compared
            for line in wrong
            if not _from_multiple(line, factor) <= line.compared.allowed * max(1.0, factor)
        ]
        if of_it and all(each.name != name for each in others):
            still = tuple({each.name: each.largest for each in others}.items())
            yield Match(said, max(_from_multiple(line, factor) for line in of_it), still)
            return


def _counted(step: Verified) -> Iterator[tuple[float, str]]:
    """Yields the factors, and how a report puts them."""
    places = [each.batch.place or Place() for each in step.prepared]
    named: dict[int, list[str]] = {}
    for what, key in (("microbatches of its minibatch", "microbatches"), ("ranks", "world_size")):
        counts = {getattr(each, key) for each in places}
        if len(counts) == 1 and (count := counts.pop()) and count > 1:
            named.setdefault(count, []).append(what)
    for count, of in named.items():
        yield float(count), f"everything multiplied by {count}, the {' or the '.join(of)}"
        yield 1 / count, f"everything divided by {count}, the {' or the '.join(of)}"


def _from_multiple(line: Line, factor: float) -> float:
    """Returns how far a logged number is from a multiple of what was computed; infinitely, a tensor."""
    logged, recomputed = line.compared.logged, line.compared.recomputed
    return float("inf") if logged is None or recomputed is None else abs(logged - factor * recomputed)


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
    step = _verified(case, case.on_lines(prepared), by_itself and case.options.causes, unread)
    first, causes = first_line(step.lines), tuple[Match, ...]()
    if first and not first.of_forwards and case.options.causes:
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
