"""What the page "Which DPO is it?" says."""

from pathlib import Path

from blueprint.workbooks.common.conventions import Values, comparison_in
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.dpo.schema import DPO

FORM, REFERENCE, NLL = "loss.form", "reference.used", "loss.nll_coef"
READ_BY = {
    "loss.exo_eps": ("exo",), "loss.discopop_tau": ("discopop",), "loss.aot_tie": ("aot", "aot_unpaired"),
    "loss.bco_threshold": ("bco",), "loss.odds_one": ("orpo", "orpo_tokens"), "loss.desirable": ("kto", "apo_zero_unpaired"),
    "loss.undesirable": ("kto", "apo_zero_unpaired"),
    "loss.label_smoothing": ("sigmoid", "robust", "hinge", "aot", "aot_unpaired"), "loss.gamma": ("sigmoid", "hinge"),
}  # fmt: skip
"""Settings with the forms that read them."""


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: what only other forms read, and parts of what is not done."""
    found = [key for key, forms in READ_BY.items() if values[FORM] not in forms]
    if not values[NLL]:
        found += [key for key, each in DPO.items() if each.part_of == NLL]
    if values["logp.ld"] == "off":
        found += [key for key, each in DPO.items() if each.part_of == "logp.ld"]
    if values[REFERENCE] == "off":
        found.append("margin.divergence")
    return tuple(dict.fromkeys(found))


COMPARISON = comparison_in(Path(__file__).parent, silent=silent, parts={EVERY_WORD: True})
