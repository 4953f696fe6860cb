"""Small files as frameworks write them, laid out as in their sources, of the batch on which slime's own code was recorded."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.workbooks.grpo.recorded import batch, recorded_file

SLIME = "slime_624b824"


def recorded(variant: str = "grpo") -> Any:
    """Returns what slime's own code computed of the recorded batch."""
    return recorded_file("critic_free_runs.json")["runs"][SLIME]["variants"][variant]["out"]


def prompts() -> list[list[int]]:
    """Returns the tokens of the prompts, one list for each response; groups of responses have the same."""
    found: list[list[int]] = recorded_file("critic_free_runs.json")["batch"]["prompts"]
    return found


def lengths() -> list[int]:
    """Returns how many tokens each response has."""
    return [int(each) for each in batch().mask.sum(1)]


def rows(numbers: Any) -> list[torch.Tensor]:
    """Cuts numbers of responses, [12, 6], to their own lengths, as float32."""
    return [
        torch.tensor(row[:length], dtype=torch.float32)
        for row, length in zip(np.asarray(numbers, float), lengths(), strict=True)
    ]


def per_token(numbers: Any) -> list[torch.Tensor]:
    """Gives each token its response's number, as slime's get_grpo_returns does."""
    return [torch.full((length,), float(each)) for each, length in zip(numbers, lengths(), strict=True)]


def tokens() -> list[torch.Tensor]:
    """Returns the tokens of prompt and response."""
    return [
        torch.tensor([*prompt, *row[:length].tolist()])
        for prompt, row, length in zip(prompts(), batch().tokens, lengths(), strict=True)
    ]


def rollout_data(variant: str = "grpo") -> dict[str, Any]:
    """Returns the columns of a training step as slime and miles have them when they dump, an entry for each response."""
    of, advantages = batch(), recorded(variant)["advantages"]
    return {
        "tokens": tokens(),
        "response_lengths": lengths(),
        "total_lengths": [len(each) for each in tokens()],
        "rewards": [float(each) for each in advantages],
        "truncated": [int(each) for each in of.truncated],
        "sample_indices": list(range(24, 36)),
        "rollout_ids": list(range(12)),
        "rollout_mask_sums": torch.tensor(lengths(), dtype=torch.float32),
        "loss_masks": [torch.ones(length, dtype=torch.int32) for length in lengths()],
        "rollout_log_probs": rows(of.logprobs("rollout")),
        "log_probs": rows(of.logprobs("old")),
        "ref_log_probs": rows(of.logprobs("ref")),
        "kl": [torch.zeros(length) for length in lengths()],
        "advantages": per_token(advantages),
        "returns": per_token(advantages),
    }


def slime_training(path: Path, variant: str = "grpo", **changed: Any) -> Path:
    """Writes what slime 624b824 does, train_data_utils.py, _build_dump_payload: two shards, whose responses are interleaved."""
    columns = rollout_data(variant) | changed
    columns.pop("sample_indices")
    samples = [
        {"data_parallel_rank": row % 2, "rollout_position": row, "sample_index": 24 + row}
        | {name: each[row] for name, each in columns.items()}
        for row in range(12)
    ]
    shards = [
        {"rank": rank, "data_parallel_rank": rank, "partition": list(range(rank, 12, 2)), "sample_indices": None,
         "micro_batch_indices": [[[0, 1, 2, 3, 4, 5]]], "num_microbatches": [1], "global_batch_sizes": [12]}
        for rank in range(2)
    ]  # fmt: skip
    whole = {"raw_reward": batch().rewards.tolist()}
    torch.save(
        {"format_version": 2, "rollout_id": 7, "rank": 0, "samples": samples, "dp_shards": shards, **whole}, path
    )
    return path


def miles_training(folder: Path, cp_size: int = 1, **changed: Any) -> list[Path]:
    """Writes what miles 31f1ca9 does, train_dump_utils.py: two shards, and each of them twice, as tensor parallelism does."""
    columns = rollout_data() | changed
    paths = []
    for rank in range(4):
        mine = [row for row in range(12) if row % 2 == rank // 2]
        own = {name: [each[row] for row in mine] for name, each in columns.items()}
        own |= {"raw_reward": batch().rewards.tolist()}
        known = {"rollout_id": 2, "rank": rank, "rollout_data": own, "cp_rank": 0, "cp_size": cp_size}
        paths.append(folder / f"2_{rank}.pt")
        torch.save(known | {"qkv_format": "thd"}, paths[-1])
    return paths


def sampled(row: int) -> dict[str, Any]:
    """Returns a response of a rollout as `Sample.to_dict` of both does, slime/utils/types.py and miles/utils/types.py."""
    of = batch()
    return {
        "group_index": row // 4,
        "index": 24 + row,
        "rollout_id": None,
        "prompt": "two tokens",
        "tokens": tokens()[row].tolist(),
        "response": "text",
        "response_length": lengths()[row],
        "label": None,
        "reward": float(of.rewards[row]),
        "loss_mask": None,
        "weight_versions": ["3"],
        "rollout_log_probs": rows(of.logprobs("rollout"))[row].tolist(),
        "remove_sample": False,
        "status": "truncated" if of.truncated[row] else "completed",
        "metadata": {},
        "spec_info": {"spec_accept_token_num": 0},
    }


def rolled_out(path: Path, miles: bool = False, **changed: Any) -> Path:
    """Writes what `--save-debug-rollout-data` of slime does, or of miles."""
    samples = [sampled(row) | changed for row in range(12)]
    torch.save({"rollout_id": 7, "samples": samples} | ({"metadata": {}} if miles else {}), path)
    return path


REWARDS = ("reward.raw", "reward.post_process", "advantage.kl", "advantage.estimate")


def relax_bundle(path: Path, of_training: bool, **config: Any) -> Path:
    """Writes what Relax does, relax/utils/replay/bundle.py, BundleWriter: of a rollout, or of a training step.

    Of a training step 0 stands in the place of scores and groups, as _build_samples_from_raw in capture.py writes it.
    """
    of, found = batch(), recorded("grpo")
    tensors = {
        "old_log_probs": torch.cat(rows(of.logprobs("old"))),
        "advantages": torch.cat(per_token(found["advantages"])),
    }
    expected: dict[str, Any] = {}
    if of_training:
        entropy = [float(row.mean()) for row in rows(of.entropy)]
        losses = {
            "loss": found["loss"],
            "pg_loss": found["loss"],
            "entropy_loss": sum(entropy) / 12,
            **found["metrics"],
        }
        tensors |= {"log_probs": torch.cat(rows(of.logprobs("new"))), "entropy": torch.cat(rows(of.entropy))}
        expected["loss.policy"] = {name: 12 * each for name, each in losses.items()}
    else:
        tensors |= {name: torch.zeros(sum(lengths())) for name in ("ref_log_probs", "kl")}
        expected["reward.raw"] = {"raw_rewards": of.rewards.tolist()}
    (path / "payloads").mkdir(parents=True)
    payloads = {}
    for name, tensor in tensors.items():
        file = path / "payloads" / f"{name}.pt"
        torch.save(tensor, file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        payloads[name] = {"name": name, "dtype": str(tensor.dtype), "shape": list(tensor.shape),
                          "bytes": file.stat().st_size, "sha256": digest}  # fmt: skip
    samples = [
        {"sample_id": f"s-{row}", "group_index": 0 if of_training else row // 4, "response_length": length,
         "total_length": 2 + length, "loss_mask": [1] * length, "raw_reward": 0.0 if of_training else float(of.rewards[row]),
         "reward": 0.0, "label_hash": "", "micro_batch_id": "mb-0000" if of_training else None}
        for row, length in enumerate(lengths())
    ]  # fmt: skip
    settings = {"advantage_estimator": "grpo", "n_samples_per_prompt": 4, "grpo_std_normalization": True, "kl_loss_type": "k1",
                "kl_coef": 0.0, "eps_clip": 0.2, "eps_clip_high": 0.2, "entropy_coef": 0.0} | config  # fmt: skip
    step = {"rollout_id": 5, "step_id": 1} if of_training else None
    contracts = {name: {"capability": "recompute"} for name in (["loss.policy"] if of_training else REWARDS)}
    written = {
        "manifest.json": {"format_version": "1.0.0", "bundle_id": path.name, "stage_contracts": contracts, "payloads": payloads},
        "index.json": {"bundle_id": path.name, "samples": samples, "config": settings,
                       "identity": {"actor_step_id": step, "rollout_id": None if step else 5, "rank": {"dp": 1, "cp": 1}}},
        "expected.json": expected,
        "COMPLETE": {"ranks": [0]},
    }  # fmt: skip
    for name, each in written.items():
        (path / name).write_text(json.dumps(each, indent=2, sort_keys=True), encoding="utf-8")
    return path


def areal_trajectories(path: Path) -> Path:
    """Writes what AReaL 4aef98d does, areal/infra/workflow_executor.py, _dump_trajectory."""
    lines = [
        {"task_id": 3, "sample_idx": row, "seqlen": 2 + length, "prompt_len": 2, "head_version": 4, "tail_version": 5,
         "reward": float(batch().rewards[row]), "prompt": "two tokens", "completion": "text"}
        for row, length in enumerate(lengths())
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
