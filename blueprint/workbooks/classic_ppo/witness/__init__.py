"""Classic PPO in torch: files of a rollout in several environments."""

from blueprint.witness import Batch, File, KindWitness, Rows, held, shapes, single
from blueprint.workbooks.classic_ppo.witness.backward import add_gradients
from blueprint.workbooks.classic_ppo.witness.compute import add_rollout, options_of


def compute(batch: Batch, rows: Rows) -> tuple[()]:
    """Adds every quantity of the files to the rows. Raises WitnessError for an action that there is not."""
    add_rollout(batch, rows)
    add_gradients(batch, rows, options_of(batch))
    return ()


def group_key(file: File) -> object:
    """Returns what files must share: their settings, all shapes, and the norm whose rows they were built with."""
    same = shapes(file, "actions", "old.logits", "policy.logits", "presets.names")
    return held(file), same, str(single(file, "value_norm.built"))


WITNESS = KindWitness(("values.old",), ("actions",), compute, group_key)
