"""A step of DPO computed again: what is done otherwise, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from blueprint.dumps import Array
from blueprint.verifying import Settings
from blueprint.workbooks.dpo.dumps import PairStep

Given = Mapping[str, Array]
NOTHING: Given = MappingProxyType({})
Ways = Mapping[str, Any]
"""What is done otherwise than in every library: known mistakes, and conventions that no setting names.

mask: of which tokens a response is: "no_last" without the last one, "one_more" with the one behind, "one_less" without the first,
"text" with the prompt, "all" with prompt and pads. moved: log-probs that stand so many columns later (1) or earlier (−1).
sides: models, "policy" or "reference", whose chosen and rejected responses are exchanged. reference: "none" where it is left out,
"policy" where the policy stands for it; inverted: the log-ratio is reference over policy.
factor: by quantity, what it is multiplied by. ties: how much of a success two equal rewards are.
accuracy_of: "margin" for that in the loss. likely: losses are 1 − σ and no −log σ. summed: sums over pairs and no means.
parts: losses are means over so many parts of the pairs, one below the other. whole: losses are those of all files of the step.
"""
PLAIN: Ways = MappingProxyType({})


@dataclass
class Replayed:
    """A step computed again, and what came of it. All by name; `rows` [P], `numbers` of the step.

    sizes: by number, the mean size of what it averages. room: how far rounding alone may move a row or number; extra: of a share,
    how much more, where rounding decides. lacks: by quantity, what the file has not that it takes.
    """

    batch: PairStep
    settings: Settings
    rows: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    room: dict[str, float] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
