"""From a file of one's own pairs to the tables of a numbers file, and what there is to say of the way."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blueprint.inputs import counted, name_of
from blueprint.quoting import printable
from blueprint.workbooks.common.own_data import (
    UNALIGNED,
    Spoken,
    Written,
    chosen_rows,
    heading,
    in_all,
    records_in,
    said_of,
    some_cells,
    within,
)
from blueprint.workbooks.dpo.logprobs import LARGEST
from blueprint.workbooks.dpo.own_data.columns import columns_of, paired
from blueprint.workbooks.dpo.own_data.sides import MODELS, SIDES, Both, both_of, per_of

PAIRS = Spoken("pairs", "one per pair, with its prompt, the chosen and the rejected response", "some of them")
KTO = "single responses: the first good one stands beside the first bad one, and so on; of the losses, kto asks for no pairs"
FIRST = "a first step, on which the policy is the reference"


def tables_from(
    path: Path, told: Sequence[str] = (), prompts: str | None = None, most_tokens: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Returns the tables of a numbers file of pairs, and a line for everything one should know of them.

    told: which column is which, `what=column`. prompts: the pairs to be taken, such as 1-3,7. most_tokens: of each response those
    that are kept. Raises NumbersError, with file and line, for what cannot be read so.
    """
    name, records = printable(path.name), records_in(path, PAIRS)
    names = columns_of(some_cells(records), told, name)
    said = said_of(names)
    if not {"chosen", "rejected"} <= names.keys():
        records, names = paired(records, names, name)
        said.append(KTO)
    rows = chosen_rows(records, prompts, name, LARGEST[1], "pairs")
    per = per_of(rows, names)
    pairs = [both_of(row, names, per) for row in rows]
    written, cut = within([each for pair in pairs for each in pair.sides], most_tokens)
    logs, spoken = _of_models(written)
    unaligned = [] if all(each.aligned for each in written) else [UNALIGNED]
    said += [f"pairs: {len(rows)} of {len(records)}", *unaligned, *cut, *spoken, *_long(pairs)]
    text = {"prompts": [heading(pair.prompt)[0] for pair in pairs], **_sides([each.tokens for each in written])}
    about = f"{counted(len(pairs), 'pair')} of a chosen and a rejected response, read from {name}."
    head = {"level": "pair-logprobs", "title": name_of(path), "about": about[:255], "per": per}
    return {**head, "text": text, **logs, **_rewards(pairs)}, said


def _sides(of_responses: Sequence[Any]) -> dict[str, list[Any]]:
    """Parts what each response has by sides: chosen and rejected ones stand in turn."""
    return {side: list(of_responses[place::2]) for place, side in enumerate(SIDES)}


def _of_models(written: Sequence[Written]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Returns log-probs by table, and what holds where there are none."""
    there = [model for model in MODELS if in_all(written, model)]
    tables = {model: _sides([each.numbers[model] for each in written]) for model in there}
    match there:
        case []:
            return {}, [f"no log-probs: {FIRST} and every log-ratio is 0"]
        case [only]:
            return {"policy": tables[only]}, [f"log-probs: those of {only} stand for both models: {FIRST}"]
        case _:
            return tables, []


def _rewards(pairs: Sequence[Both]) -> dict[str, dict[str, list[float]]]:
    """Returns true rewards, where there are any."""
    return {"rewards": _sides([each for pair in pairs for each in pair.rewards])} if pairs[0].rewards else {}


def _long(pairs: Sequence[Both]) -> list[str]:
    cut = [text for text, is_cut in (heading(pair.prompt) for pair in pairs) if is_cut]
    return [f"prompts longer than {len(cut[0])} letters are cut"] if cut else []
