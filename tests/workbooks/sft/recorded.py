"""What eight libraries, in eleven versions, computed of four texts, and the preset and settings that each recorded run had."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).parents[2] / "data" / "preference_runs.json"
NORMALISERS = {
    "global": "tokens", "global_counting_first_tokens": "labels", "microbatch_mean": "microbatches",
    "sequence_sum_mean": "row_sums", "tokens_with_nonzero_logp": "nonzero",
}  # fmt: skip
REGIONS = {"response": "response", "prompt_and_response": "text"}
PARTS = {"one_batch": 1, "two_microbatches": 2, "four_microbatches": 4}
MEANS = "_mean_of_means"


class Run(NamedTuple):
    """A recorded run: library, variant, settings by key, and what came out."""

    library: str
    variant: str
    settings: dict[str, float | str]
    out: dict[str, Any]


@cache
def runs() -> tuple[Run, ...]:
    """Returns every run of fine-tuning, that of each number of microbatches by itself."""
    return tuple(_runs())


def _runs() -> Iterator[Run]:
    given = json.loads(DATA.read_text(encoding="utf-8"))
    for library, found in given["runs"].items():
        for variant, run in found["runs"].items():
            options = {**given["option_defaults"]["sft"], **run.get("options", {})}
            if options.get("stage") == "sft":
                packed: dict[str, float | str] = {"packing": "bfd"} if "packing" in variant else {}
                for part, out in _parts(run["result"]):
                    yield Run(library, f"{variant} {part}".strip(), _settings(options, part) | packed, out)


def _parts(result: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if "loss" in result:
        yield "", result
    else:
        yield from result.items()


def _settings(options: dict[str, Any], part: str) -> dict[str, float | str]:
    """Returns the settings of a run by our keys."""
    normaliser = "microbatches" if part.endswith(MEANS) else NORMALISERS[options["normaliser"]]
    return {
        "region": REGIONS[options["region"]], "loss.normaliser": normaliser, "loss.mean_eps": options["mean_eps"],
        "microbatches": PARTS.get(part.removesuffix(MEANS), options["microbatches"]), "loss.dft": "on" if options["dft"] else "off",
    }  # fmt: skip
