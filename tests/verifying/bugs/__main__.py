"""Plants every bug in the libraries' own code, prints what `verify` names first, and keeps what the libraries made.

    python -m tests.verifying.bugs FOLDER [WORDS]

FOLDER holds their unpacked packages: `pip download --no-deps trl==1.12.0 verl==0.9.1 openrlhf==0.11.2`, and `unzip` each
into it. Only bugs are planted whose description holds WORDS; all of them are kept in tests/data/planted_bugs.npz.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from blueprint.verifying.verdict import Verdict
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.verifying.bugs import kept
from tests.verifying.bugs.planted import Bug, planted
from tests.verifying.bugs.running import PRESETS, RUN, Step, dump, inputs, settings
from tests.verifying.bugs.source import Source

SEEDS = range(5)


def step_of(folder: Path, library: str, seed: int = 0, bug: Bug | None = None) -> Step:
    """Runs a library, with a bug in its code if there is one."""
    source = Source(folder, bug.place, bug.old, bug.new) if bug else Source(folder)
    return RUN[library](source, inputs(seed))


def verdict_of(library: str, step: Step) -> Verdict:
    """Verifies a step of a library as it is run here, all of it in one file."""
    return verify(dump(library, step), settings(library), PRESETS[library], whole=True)


def is_named(bug: Bug, verdict: Verdict) -> bool:
    """Tells whether the cause that is named first is the bug."""
    return bool(verdict.causes) and any(word in verdict.causes[0].said for word in bug.named)


def _row(bug: Bug, verdict: Verdict) -> str:
    first = verdict.first.called if verdict.first else "agrees"
    said = [each.said for each in verdict.causes]
    mark = "named" if is_named(bug, verdict) else "     "
    return f"{mark}  {bug.library:9}{bug.said:45}{first:14}{said[0] if said else '—'}  ({len(said)})"


def _set(name: str, bugs: Sequence[Bug], steps: dict[str, Step]) -> None:
    found = [(bug, verdict_of(bug.library, steps[bug.said])) for bug in bugs]
    print(*(_row(*each) for each in found), sep="\n")
    print(f"{name} set: {sum(is_named(*each) for each in found)} of {len(found)} named first\n")


def main() -> None:
    """Prints a line for each bug, and how many were named."""
    folder, words = Path(sys.argv[1]), " ".join(sys.argv[2:])
    clean = {f"{library} {seed}": step_of(folder, library, seed) for library in RUN for seed in SEEDS}
    accused = [name for name, step in clean.items() if not verdict_of(name.split()[0], step).agrees]
    print(f"clean runs accused: {len(accused)} of {len(clean)} {accused or ''}")
    steps = {f"clean {library}": clean[f"{library} 0"] for library in RUN}
    for name, bugs in planted().items():
        asked = [bug for bug in bugs if words in bug.said]
        steps |= {bug.said: step_of(folder, bug.library, bug=bug) for bug in asked}
        _set(name, asked, steps)
    if not words:
        kept.write(steps)


if __name__ == "__main__":
    main()
