"""The command `run`: it parses, has runs trained and shown, and prints. No maths."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from blueprint.commands import console, errors
from blueprint.files import refuse_existing, refuse_target, require_page_ending, saved_whole
from blueprint.training.folder import Folder, is_run
from blueprint.training.run_toml import BUILT_IN, RunNumbers, run_numbers, toml_of

if TYPE_CHECKING:
    from blueprint.training.run import Run

EXAMPLES = """\b
Examples:
  blueprint run -o run/                                       # about four seconds; the same command goes on if it is killed
  blueprint run -o run/ --beta 0,0.1,1 --seeds 8 --set update.iterations=80
  blueprint run -o run.toml                                   # the numbers of a run alone, with comments: edit them
  blueprint run run.toml -o mine/
  blueprint run run/ --iteration 57 --beta 0.1 -o it57.xlsx   # any iteration, whole, as a workbook
  blueprint run run/ --iteration 57 --beta 0.1 -o it57.npz    # its last step as a dump, for verify and import
  blueprint run run/ --plot run.png --page run.html -o run.xlsx
\b
Exit codes: 0 done, 1 an iteration's workbook was written but not every formula was proved, 2 wrong use, or a run that cannot go on.
"""
FOLDER = Path("run")
DUMPS = (".npz", ".safetensors", ".jsonl", ".parquet")
"""Endings by which an iteration is asked for as a dump."""


@click.command(epilog=EXAMPLES)
@click.argument("source", required=False, metavar="[NUMBERS|FILE.toml|FOLDER]")
@click.option("-o", "--output", type=errors.FILE, metavar="FOLDER|FILE", help="Where it goes  [default: run/]")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key; may be repeated."
)
@click.option("--beta", metavar="A,B,…", help="KL coefficients, one run for each; with --iteration: which run.")
@click.option("--seeds", type=click.IntRange(1), metavar="N", help="How many runs of each KL coefficient.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="The first seed; of a folder, which one is shown.")
@click.option(
    "--ray", metavar="ADDRESS", help="Share the runs out to a Ray cluster, auto or an address; local begins one here."
)
@click.option("--device", default="cpu", show_default=True, help="Where torch computes: cpu, or cuda.")
@click.option("--iteration", type=click.IntRange(0), metavar="N", help="Write this iteration as a workbook.")
@click.option("--plot", type=errors.FILE, metavar="FILE", help="Draw the run: .png, .svg or .pdf.")
@click.option("--page", type=errors.FILE, metavar="FILE", help="Write the run as one page for the browser.")
@click.option(
    "--no-proof", is_flag=True, help="Do not have an iteration's workbook recalculated by an independent engine."
)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
def run(
    source: str | None,
    output: Path | None,
    overrides: tuple[str, ...],
    beta: str | None,
    seeds: int | None,
    seed: int | None,
    ray: str | None,
    device: str,
    iteration: int | None,
    plot: Path | None,
    page: Path | None,
    no_proof: bool,
    force: bool,
) -> None:
    """Train a small policy by RLHF, from demonstrations to the last iteration, for several KL coefficients at once.

    The folder keeps every iteration: the same command continues a killed run, with the same digits. FOLDER alone
    continues that run. With --plot, --page or -o FILE.xlsx it is shown as a chart, as a page, or as a workbook with a row for each
    iteration; with --iteration one iteration becomes a workbook of its own.
    """
    errors.need_torch("run")
    from blueprint.training.run import opened

    _check_targets(output, plot, page, force)
    kept = source is not None and is_run(Path(source))
    asked = {"--ray": ray, "--seed": seed is not None, "--no-proof": no_proof, "--plot": plot, "--page": page}
    _refuse_idle([name for name, given in asked.items() if given], kept, iteration is not None, output)
    if source is not None and kept:
        given = [f"--set {each}" for each in overrides] + ([f"--seeds {seeds}"] if seeds else [])
        errors.require(not given, f"{' and '.join(given)}: not for a folder: {_longer(source)}")
        if iteration is not None:
            errors.require(
                not (plot or page), "--iteration and --plot or --page: one iteration is a workbook, and no more"
            )
            target = output or Path(f"it{iteration}.xlsx")
            (refuse_existing if target.suffix in DUMPS else refuse_target)(target, force)
            _write_iteration(opened(Path(source), device), iteration, _number(beta), seed, target, not no_proof)
        else:
            _of_folder(Path(source), output, beta, seed, device, plot, page, ray)
        return
    errors.require(iteration is None, "--iteration is of a run that is kept: blueprint run FOLDER --iteration N")
    errors.require(
        source is None or not Path(source).is_dir(),
        f"{source} is a folder, and holds no run: blueprint run -o FOLDER makes one, in a folder that is new or empty",
    )
    more = _coefficients(beta) + [f"seeds={seeds}"] * (seeds is not None)
    numbers = run_numbers(source or BUILT_IN, [*overrides, *more, *([f"seed={seed}"] if seed is not None else [])])
    if output is not None and output.suffix == ".toml":
        with saved_whole(output) as unfinished:
            unfinished.write_text(toml_of(numbers), encoding="utf-8", newline="\n")
        console.say(f"wrote {output}: every number of a run, with comments; blueprint run {output} trains by it")
        return
    workbook = output if output is not None and output.suffix == ".xlsx" else None
    folder = FOLDER if output is None or workbook else output
    found = _trained(numbers, folder, device, ray)
    console.say(f"{folder}: {found!r}")
    _show(found, workbook, plot, page, seed)


def _refuse_idle(given: list[str], kept: bool, iteration: bool, output: Path | None) -> None:
    """Refuses options that would change nothing; kept: whether the run is a folder's, iteration: whether one is asked for."""
    for options, why in _idle(kept, "--plot" in given or "--page" in given, iteration, output):
        wrong = [option for option in options if option in given]
        errors.require(not wrong, f"{' and '.join(wrong)}: {why}")


def _idle(kept: bool, drawn: bool, iteration: bool, output: Path | None) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields options that change nothing, each time with why."""
    shown = drawn or iteration or (output is not None and output.suffix == ".xlsx")
    if output is not None and output.suffix == ".toml" and not kept:
        yield ("--ray", "--plot", "--page"), f"-o {output} writes the numbers of a run alone: leave it out"
    if kept and shown:
        yield ("--ray",), "a run that is kept is shown, and none is trained: leave it out"
    if kept and not shown:
        yield ("--seed",), "which run is shown: add --plot, --page, -o FILE.xlsx or --iteration, or leave it out"
    if not iteration or (output is not None and output.suffix in DUMPS):
        yield (
            ("--no-proof",),
            "only the workbook of an iteration is proved: add --iteration N -o FILE.xlsx, or leave it out",
        )


def _longer(folder: str) -> str:
    """Says that a kept run has numbers of its own, and how it goes on."""
    more = f"blueprint run -o {folder} --set update.iterations=N makes it longer"
    return f"the run in {folder} has its own numbers; {more}"


def _check_targets(output: Path | None, plot: Path | None, page: Path | None, force: bool) -> None:
    """Refuses, before anything is computed, what could not be written in the end."""
    if output is not None and output.suffix == ".xlsx":
        refuse_target(output, force)
    elif output is not None and output.suffix == ".toml":
        refuse_existing(output, force)
    if plot is not None:
        from blueprint.training.summary_and_plot import check_plot

        check_plot(plot)
        refuse_existing(plot, force)
    if page is not None:
        require_page_ending(page)
        refuse_existing(page, force)
    errors.require_folder_of(plot)
    errors.require_folder_of(page)


def _trained(numbers: RunNumbers, folder: Path, device: str, ray: str | None) -> "Run":
    """Trains, or goes on, with a progress bar; Ctrl-C ends it with what is finished in the folder."""
    from blueprint.training.run import trained

    try:
        with console.bar("iterations", numbers.update.iterations) as moved:
            return trained(numbers, folder, device, moved, ray)
    except KeyboardInterrupt:
        console.say(f"\nInterrupted: blueprint run {folder} goes on where it was.", err=True)
        raise


def _of_folder(
    folder: Path,
    output: Path | None,
    beta: str | None,
    seed: int | None,
    device: str,
    plot: Path | None,
    page: Path | None,
    ray: str | None,
) -> None:
    from blueprint.training.run import opened

    errors.require(
        beta is None, "--beta: a folder shows all its KL coefficients; --iteration N --beta B takes one of them"
    )
    workbook = output if output is not None and output.suffix == ".xlsx" else None
    errors.require(
        output is None or workbook is not None, f"{output}: a run that is kept is written as a workbook: name it .xlsx"
    )
    if workbook or plot or page:
        found = opened(folder, device)
    else:
        found = _trained(Folder(folder).numbers(), folder, device, ray)
        console.say(f"{folder}: {found!r}")
    _show(found, workbook, plot, page, seed)


def _coefficients(beta: str | None) -> list[str]:
    """Returns the KL coefficients that are asked for as another value of their key; refuses what is no list of numbers."""
    if beta is None:
        return []
    try:
        numbers = [float(each) for each in beta.split(",")]
    except ValueError:
        raise errors.Refused(f"--beta {beta}: found no list of numbers, expected one, such as --beta 0,0.1,1") from None
    return [f"ppo.kl_coef={numbers}"]


def _number(beta: str | None) -> float | None:
    if beta is None:
        return None
    with errors.ending_in(
        errors.Refused, ValueError, before=f"--beta {beta}: one number is expected with --iteration: "
    ):
        return float(beta)


def _write_iteration(
    found: "Run", iteration: int, beta: float | None, seed: int | None, output: Path, proof: bool
) -> None:
    """Writes an iteration as a workbook, and says how its last weights lie to the run's next ones."""
    from blueprint.book import Book
    from blueprint.inputs import load
    from blueprint.training.export import farthest, too_large, workbook_numbers
    from blueprint.workbooks.registry import blueprint_of

    if output.suffix in DUMPS:
        _write_dump(found, iteration, beta, seed, output)
        console.say(
            f"wrote {output}: the last step of iteration {iteration}, as a trainer dumps it; blueprint verify {output}"
        )
        return
    if reason := too_large(found.numbers):
        _write_part(found, iteration, beta, seed, output, proof, reason)
        return
    moment = found.moment(iteration, beta, seed)
    book = Book(blueprint_of(load(workbook_numbers(found.numbers, moment))))
    arrays = {block.name: array for block, array in book.values.arrays.items()}
    proved = console.saved(book, output, proof)
    console.say(
        f"Its weights after the last step are the run's before iteration {iteration + 1}: the largest difference is "
        f"{farthest(found.numbers, moment, arrays):.1g}."
    )
    if not proved:
        raise SystemExit(1)


def _write_dump(found: "Run", iteration: int, beta: float | None, seed: int | None, path: Path) -> None:
    from blueprint.dumps import MinibatchError, save

    made = found.dump(iteration, beta, seed)
    with errors.ending_in(errors.Refused, MinibatchError):
        save(path, made.tensors, made.metadata)


def _write_part(
    found: "Run", iteration: int, beta: float | None, seed: int | None, output: Path, proof: bool, reason: str
) -> None:
    """Writes some responses of the last step of an iteration as a workbook, and of the others what `import` types of them."""
    from blueprint.commands.verify_files import book_of
    from blueprint.training.export import group_too_large
    from blueprint.verifying import VerifyOptions, ViewOptions

    whole = group_too_large(found.numbers)
    errors.require(
        not whole,
        f"iteration {iteration} as a workbook: {whole}; -o FILE.npz writes its last step as a dump, which verify reads",
    )

    console.say(
        f"Iteration {iteration} is too large for a workbook of all its steps: {reason}. So the workbook shows some responses of its"
        " last step, as blueprint import does; of the others it has the counts, means and variances, as typed numbers.\n"
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"iteration-{iteration}.npz"
        _write_dump(found, iteration, beta, seed, path)
        book, agrees = book_of([path], VerifyOptions(), ViewOptions(), path.stem)
    if not (console.saved(book, output, proof) and agrees):
        raise SystemExit(1)


def _show(found: "Run", workbook: Path | None, plot: Path | None, page: Path | None, seed: int | None) -> None:
    if plot:
        from blueprint.training.summary_and_plot import draw

        draw(found, plot, seed)
        console.say(f"wrote {plot}: gold, reward and seven more over the iterations, a line for each KL coefficient")
    if page:
        from blueprint.training.page import write_page

        write_page(found, page, seed)
        console.say(f"wrote {page}: {page.stat().st_size / 1000:,.0f} kB; open it in a browser")
    if workbook:
        from blueprint.training.workbook import write_workbook

        write_workbook(found, workbook, seed)
        console.say(f"wrote {workbook}: a row for each iteration; choose β on the sheet Run, and the charts follow")
