"""The commands of labs: they parse, have agents trained and shown, and print. No maths."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from blueprint.commands import console, errors
from blueprint.files import refuse_existing, refuse_target
from blueprint.labs.settings import METHODS, LabError, Settings, recipes, settings

if TYPE_CHECKING:
    from blueprint.labs.study import Study

Train = Callable[[Settings, Callable[[int], None]], tuple[Any, Any, Any]]
"""Trains by settings, and returns iterations, episodes, and how long new episodes are."""

THEIRS = "Stable-Baselines3"
"""How labels begin of runs that are not ours."""

EXAMPLES = """\b
Examples:
  blueprint lab cart-pole                                             # PPO learns to balance, in about 40 seconds
  blueprint lab cart-pole --method ppo,a2c,reinforce --plot three.png # one loss, the same number of steps
  blueprint lab cart-pole --seeds 5 --compare-sb3 -o five/            # five seeds, Stable-Baselines3 beside each
  blueprint lab cart-pole --sweep clip_range=0.05,0.2,0.5 --plot eps.png --panel length
  blueprint lab cart-pole --recipe tutorial --set shared_trunk=false
  blueprint lab cart-pole --iteration 7 --minibatch 2 -o it7.xlsx     # any minibatch as a workbook
  blueprint lab cart-pole --recipe by-hand --iteration 7 --networks -o net7.xlsx
\b
Exit codes: 0 done, 1 a workbook was written but not every formula was proved, 2 wrong use, or a run that cannot go on.
"""
PANELS = ("length", "kl", "clip_fraction", "entropy", "explained_variance", "grad_norm")


@click.command("cart-pole", epilog=EXAMPLES)
@click.option(
    "--method", default="ppo", show_default=True, metavar="A,B,…", help=f"{', '.join(METHODS)}: one or several."
)
@click.option("--recipe", metavar="NAME", help=f"Other settings together: {' or '.join(recipes())}.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a setting; may be repeated."
)
@click.option("--sweep", metavar="KEY=A,B,…", help="A run for each of these values of a setting.")
@click.option("--shared-trunk", is_flag=True, help="Policy and critic share their hidden layers.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first seed.")
@click.option("--seeds", type=click.IntRange(1, 100), default=1, show_default=True, metavar="N", help="How many seeds.")
@click.option(
    "--steps", type=click.IntRange(1), default=100_000, show_default=True, help="Steps of all environments together."
)
@click.option("--compare-sb3", is_flag=True, help="Train PPO of Stable-Baselines3, too, by the same settings.")
@click.option("-o", "--output", type=errors.FILE, metavar="FOLDER|FILE.xlsx", help="Keep the tables there.")
@click.option("--plot", type=errors.FILE, metavar="FILE", help="Draw the runs: .png, .svg or .pdf.")
@click.option("--panel", "panels", multiple=True, type=click.Choice(PANELS), help="Draw this alone; may be repeated.")
@click.option(
    "--iteration", type=click.IntRange(0), metavar="N", help="Write a minibatch of this iteration as a workbook."
)
@click.option(
    "--minibatch", type=click.IntRange(1), metavar="N", help="Which one, counted over all epochs.  [default: 1]"
)
@click.option("--networks", is_flag=True, help="The minibatch's networks (observations, weights), not its loss.")
@click.option("--no-proof", is_flag=True, help="Do not have the workbook recalculated by an independent engine.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
def cart_pole(
    method: str,
    recipe: str | None,
    overrides: tuple[str, ...],
    sweep: str | None,
    shared_trunk: bool,
    seed: int,
    seeds: int,
    steps: int,
    compare_sb3: bool,
    output: Path | None,
    plot: Path | None,
    panels: tuple[str, ...],
    iteration: int | None,
    minibatch: int | None,
    networks: bool,
    no_proof: bool,
    force: bool,
) -> None:
    """Train an agent to balance a pole, by the loss of classic PPO: PPO, A2C and REINFORCE are settings of it.

    Every run is evaluated on 100 new episodes, with actions drawn. Everything depends on the seed alone, so that any minibatch of
    any iteration can be had again, as a workbook of live formulas.
    """
    errors.need_torch("lab")
    changed = [*overrides, *(["shared_trunk=true"] if shared_trunk else [])]

    def of(name: str, of_seed: int, more: str = "") -> Settings:
        return settings(name, recipe=recipe, seed=of_seed, steps=steps, changed=[*changed, *filter(None, [more])])

    methods = method.split(",")
    _refuse_idle({"--panel": panels and not plot, "--no-proof": no_proof and iteration is None})
    if iteration is not None or minibatch is not None or networks:
        others = {
            "--sweep": sweep,
            "--seeds": seeds > 1,
            "--plot": plot,
            "--compare-sb3": compare_sb3,
            method: methods[1:],
        }
        wrong = " and ".join(name for name, given in others.items() if given)
        errors.require(not wrong, f"--iteration with {wrong}: a workbook is of one minibatch of one run")
        errors.require(iteration is not None, "a minibatch is of an iteration: say which, with --iteration N")
        target = output or Path(f"it{iteration}.xlsx")
        refuse_target(target, force)
        write = _write_networks if networks else _write_minibatch
        write(of(method, seed), int(iteration or 0), minibatch or 1, target, not no_proof)
        return
    tried = [(name, more, seed + s) for name in methods for more in _values(sweep) for s in range(seeds)]
    plan = [(_label(name, more, len(methods)), of(name, of_seed, more)) for name, more, of_seed in tried]
    errors.require(
        not compare_sb3 or "ppo" in methods,
        f"--compare-sb3 with --method {method}: it stands beside PPO, so name ppo, too",
    )
    plan = [each for label, use in plan for each in ((label, use), *(_beside(label, use) if compare_sb3 else ()))]
    _check_plot(plot, force)
    study = _begun(output, plan, force)
    _show(_train(plan, study, output), output, plot, panels or PANELS)


def _refuse_idle(given: dict[str, object]) -> None:
    """Refuses options that would change nothing, since what they are about is not asked for."""
    about = {
        "--panel": "only a chart has panels: add --plot FILE",
        "--no-proof": "only a minibatch's workbook is proved: add --iteration N",
    }
    for name in filter(given.get, about):
        raise errors.Refused(f"{name}: {about[name]}, or leave it out")


def _values(sweep: str | None) -> list[str]:
    """Returns `key=value` for each value of a sweep, or one empty word where there is none."""
    if sweep is None:
        return [""]
    key, equals, values = sweep.partition("=")
    errors.require(
        equals and all(each.strip() for each in values.split(",")),
        f"--sweep {sweep}: expected a setting and its values, such as --sweep clip_range=0.05,0.2,0.5",
    )
    return [f"{key}={value}" for value in values.split(",")]


def _label(method: str, more: str, methods: int) -> str:
    return " ".join(([method] if methods > 1 or not more else []) + ([more.replace("=", " ")] if more else []))


def _beside(label: str, use: Settings) -> list[tuple[str, Settings]]:
    """Returns the run of Stable-Baselines3 beside one of PPO, none beside another. Raises LabError for what it has not."""
    from blueprint.labs.stable_baselines import check

    if use.method != "ppo":
        return []
    check(use)
    return [(THEIRS if label == "ppo" else f"{THEIRS} {label.removeprefix('ppo ')}", use)]


def _begun(output: Path | None, plan: list[tuple[str, Settings]], force: bool) -> "Study":
    """Returns the runs that the folder holds already; refuses, before anything is computed, one that could not be written."""
    from blueprint.labs.study import TABLES, Study, begin, begun

    if output is None:
        return Study()
    errors.require(
        output.suffix.lower() != ".xlsx",
        f"{output}: a workbook is of one minibatch: say which, with --iteration N --minibatch M, or name a folder",
    )
    kept = None if force else begun(output, plan)
    if kept is None:
        for name in TABLES:
            refuse_existing(output / f"{name}.csv", force)
        begin(output, plan)
    elif kept.finished:
        console.say(f"{output}: {len(kept.finished)} of {len(plan)} runs are there already, and are not trained again")
    return kept or Study()


def _check_plot(plot: Path | None, force: bool) -> None:
    """Refuses, before anything is computed, a chart that could not be written in the end."""
    if plot is not None:
        from blueprint.labs.study import check_plot

        check_plot(plot)
        refuse_existing(plot, force)
        errors.require_folder_of(plot)


def _show(study: "Study", folder: Path | None, plot: Path | None, panels: tuple[str, ...]) -> None:
    console.say(f"\n{study!r}")
    if folder:
        console.say(f"{folder}: results.csv, iterations.csv and episodes.csv")
    if plot:
        from blueprint.labs.study import draw

        draw(study, plot, panels)
        console.say(f"wrote {plot}: {', '.join(panels)} over the steps of all environments together")


def _train(plan: list[tuple[str, Settings]], study: "Study", folder: Path | None) -> "Study":
    """Trains run after run of those that are not in a study yet; what is finished is in the folder, whatever comes."""
    for label, use in plan:
        if (label, use.seed) not in study.finished:
            _train_one(study, label, use, _theirs if label.startswith(THEIRS) else _ours, folder)
    return study


def _train_one(study: "Study", label: str, use: Settings, train: Train, folder: Path | None) -> None:
    """Trains one run with a progress bar, and keeps it; Ctrl-C says what is kept."""
    name, began = f"{label}, seed {use.seed}", perf_counter()
    try:
        with console.bar(name, use.steps) as moved:
            iterations, episodes, lengths = train(use, moved)
    except KeyboardInterrupt:
        done = len(study.finished)
        before = f"; the runs finished before it ({done}) are in {folder}" if folder and done else ""
        again = "goes on with it" if before else "begins anew"
        console.say(f"\nInterrupted in {name}, which is not kept{before}: the same command {again}.", err=True)
        raise
    except LabError as error:
        raise LabError(f"{name}: {error}") from error
    study.add(label, use.seed, iterations, episodes, lengths, perf_counter() - began)
    if folder:
        study.write(folder)


def _ours(use: Settings, moved: Callable[[int], None]) -> tuple[Any, Any, Any]:
    """Trains an agent of ours, says what came of it, and returns its iterations, its episodes and the lengths of new ones."""
    from blueprint.labs.cart_pole import trained

    run = trained(use, moved)
    lengths = run.evaluate()
    console.say(
        f"{run!r}\n  100 new episodes, actions drawn: {lengths.mean():.1f} steps on average, at least {lengths.min()}\n"
        f"  PPO's first gradient less A2C's, largest of {len(run.watched)} iterations: "
        f"{max(each['a2c_gap'] for each in run.watched):.1g}"
    )
    return run.frame(), run.episodes(), lengths


def _theirs(use: Settings, moved: Callable[[int], None]) -> tuple[Any, Any, Any]:
    from blueprint.labs.stable_baselines import trained

    return trained(use, moved)


def _write_minibatch(use: Settings, iteration: int, number: int, output: Path, proof: bool) -> None:
    """Writes a minibatch as a workbook, and says how its loss lies to the run's."""
    from blueprint.book import Book
    from blueprint.inputs import load
    from blueprint.labs.cart_pole import moment
    from blueprint.labs.export import workbook_numbers
    from blueprint.workbooks.registry import blueprint_of

    of = moment(use, iteration, number)
    book = Book(blueprint_of(load(workbook_numbers(of))))
    proved = console.saved(book, output, proof)
    console.say(
        f"Its total loss is the run's: {of.found.total.item():.6g}, the difference is {abs(book.loss - of.found.total.item()):.1g}."
    )
    if not proved:
        raise SystemExit(1)


def _write_networks(use: Settings, iteration: int, number: int, output: Path, proof: bool) -> None:
    """Writes the networks of a minibatch as a workbook, and says how what they come to lies to the run's."""
    from blueprint.book import book
    from blueprint.labs.cart_pole import moment
    from blueprint.labs.export import forward, m

    of = moment(use, iteration, number)
    blocks, numbers = forward(of)
    made = book(f"Networks, iteration {iteration}", blocks, m, numbers)
    found = {block.name: array for block, array in made.values.arrays.items()}
    run = {"old.logits": of.batch.logits, "new.logits": of.logits, "new.values": of.values}
    farthest = max(float(abs(found[name] - array.numpy()).max()) for name, array in run.items())
    proved = console.saved(made, output, proof)
    console.say(f"Its logits and values are the run's: the largest difference is {farthest:.1g}.")
    if not proved:
        raise SystemExit(1)
