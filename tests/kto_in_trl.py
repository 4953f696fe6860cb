"""TRL's own KTO, run on typed log-probs in float64: `python -m tests.kto_in_trl` writes what came out, where trl 1.16.0 is.

`KTOTrainer._compute_loss` and `_compute_kl_logps` are TRL's; the models, which give the log-probs that are typed here, and the
accelerator of one process stand in for what surrounds them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

FILE = Path(__file__).parent / "data" / "kto_runs.json"
FAR = 1400.0

ORDINARY: dict[str, Any] = {
    "label": [True, False, True, False, False],
    "policy": [[-0.5, -1.25, -0.75], [-2.0, -0.25], [-1.5], [-0.125, -3.0, -0.5, -0.25], [-0.75, -0.75]],
    "reference": [[-1.0, -1.5, -0.75], [-1.5, -0.5], [-1.75], [-0.5, -2.25, -0.75, -0.5], [-1.0, -2.0]],
    "elsewhere_policy": [-4.0, -6.5, -3.25, -8.0, -5.5],
    "elsewhere_reference": [-4.75, -6.0, -4.5, -8.25, -5.0],
}
CASES: dict[str, dict[str, Any]] = {
    "ordinary": ORDINARY,
    "weights": {**ORDINARY, "beta": 0.5, "desirable_weight": 1.5, "undesirable_weight": 0.75},
    "apo_zero_unpaired": {**ORDINARY, "loss_type": "apo_zero_unpaired", "beta": 0.3, "desirable_weight": 2.0},
    "held at 0": {**ORDINARY, "elsewhere_policy": [-9.0, -8.0, -7.0, -8.0, -9.0]},
    "all desirable": {**ORDINARY, "label": [True] * 5},
    "all undesirable": {**ORDINARY, "label": [False] * 5},
    "one response": {key: each[:1] for key, each in ORDINARY.items()},
    "no token": {**ORDINARY, "policy": [[], *ORDINARY["policy"][1:]], "reference": [[], *ORDINARY["reference"][1:]]},
    "at the start": {**ORDINARY, "policy": ORDINARY["reference"], "elsewhere_policy": ORDINARY["elsewhere_reference"]},
    "far": {
        "label": [True, True, False, False],
        "policy": [[-1.0], [-701.0], [-1.0], [-701.0]],
        "reference": [[-701.0], [-1.0], [-701.0], [-1.0]],
        "elsewhere_policy": [-2.0, -3.0, -4.0, -5.0],
        "elsewhere_reference": [-3.0, -3.0, -5.0, -5.0],
        "beta": 1.0,
    },
    "far elsewhere": {**ORDINARY, "elsewhere_reference": [-FAR, -FAR, -FAR, -FAR, -FAR], "beta": 1.0},
}  # fmt: skip
SETTINGS = ("beta", "loss_type", "desirable_weight", "undesirable_weight")
METRICS = ("kl", "rewards/chosen", "rewards/rejected", "rewards/margins", "logps/chosen", "logps/rejected")


def ran(case: dict[str, Any]) -> dict[str, Any]:
    """Returns what TRL's loss comes to: the loss, what is logged, and ∂L/∂(log-prob of a response)."""
    import torch
    from trl import KTOTrainer

    width = max(1, *map(len, case["policy"]))
    rows = {
        name: torch.tensor([[*row, *[0.0] * (width - len(row))] for row in case[name]], dtype=torch.float64)
        for name in ("policy", "reference")
    }
    rows["policy"].requires_grad_()
    elsewhere = {name: torch.tensor(case[f"elsewhere_{name}"], dtype=torch.float64)[:, None] for name in rows}
    lengths = torch.tensor([len(row) for row in case["policy"]])
    mask = (torch.arange(width + 1) > 0) & (torch.arange(width + 1) <= lengths[:, None])

    class Model:
        training = True

        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, input_ids: Any, **_: Any) -> Any:
            found = (
                elsewhere[self.name] if input_ids.shape[1] == 2 and bool((input_ids == 7).all()) else rows[self.name]
            )
            return SimpleNamespace(
                log_probs=found, entropy=torch.zeros_like(found), mean_logits=torch.zeros_like(found)
            )

    def gathered(each: Any) -> Any:
        return each

    form = case.get("loss_type", "kto")
    trainer = SimpleNamespace(
        model=Model("policy"), ref_model=Model("reference"), calculate_KL=form == "kto", loss_type=form, beta=case.get("beta", 0.1),
        desirable_weight=case.get("desirable_weight", 1.0), undesirable_weight=case.get("undesirable_weight", 1.0),
        precompute_ref_logps=False, aux_loss_enabled=False, args=SimpleNamespace(gradient_checkpointing_kwargs=None),
        accelerator=SimpleNamespace(device="cpu", gather_for_metrics=gathered, unwrap_model=gathered),
        _metrics={"train": defaultdict(list)}, _total_train_tokens=0, _tp_size=1,
    )  # fmt: skip
    trainer._compute_kl_logps = MethodType(KTOTrainer._compute_kl_logps, trainer)
    count = len(case["label"])
    ids, others = torch.zeros(count, width + 1, dtype=torch.long), torch.full((count, 2), 7)
    batch = {
        "input_ids": ids, "attention_mask": torch.ones_like(ids), "completion_mask": mask.long(),
        "label": torch.tensor(case["label"]),
        "KL_input_ids": others, "KL_attention_mask": torch.ones_like(others), "KL_completion_mask": torch.ones_like(others),
    }  # fmt: skip
    loss = KTOTrainer._compute_loss(trainer, trainer.model, batch, False)
    (slope,) = torch.autograd.grad(loss, [rows["policy"]])
    logged = {name: each[-1] for name, each in trainer._metrics["train"].items() if name in METRICS}
    return {"loss": loss.item(), "slopes": slope[:, 0].tolist(), **logged}


def recorded() -> dict[str, Any]:
    """Returns the cases, and what TRL made of each."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    from contextlib import nullcontext
    from importlib import import_module
    from importlib.metadata import version

    trainer_module = import_module("trl.trainer.kto_trainer")
    # both ask a model for what these have not
    trainer_module.is_peft_model = lambda model: False  # type: ignore[attr-defined]
    trainer_module.disable_gradient_checkpointing = lambda *_: nullcontext()  # type: ignore[attr-defined]
    runs = {name: {"case": case, "result": ran(case)} for name, case in CASES.items()}
    made = {"library": f"trl {version('trl')}", "runs": runs}
    FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{FILE.name}: {len(runs)} runs of {made['library']}")
