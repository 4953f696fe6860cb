"""Reads a replay bundle of Relax: a folder with JSON about its responses, and a file of torch.save for each tensor.

Relax (a relative of slime), relax/utils/replay, schema.py at 93902db and bundle.py at 8a14da5, format 1:
    manifest.json    format_version, producer, stage_contracts (what of the step was captured), payloads (dtype, shape, sha256)
    index.json       identity (rollout_id, or rollout_id and step_id of a training step), samples, config
    expected.json    what Relax computed: loss.policy has loss, pg_loss, entropy_loss, pg_clipfrac, ppo_kl
    payloads/        a flat tensor for each name, the tokens of the responses one after another
    COMPLETE         written last
A bundle of a rollout has scores, groups and advantages; one of a training step has one microbatch's log-probs and losses, with 0
in the place of scores and groups, which are therefore not read. Losses are sums of the responses' means; a mean is what they
are divided by in training (get_sum_of_sample_mean), so that they are divided by the number of responses here.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.formats.npz_safetensors_torch import detached, plain_tensors
from blueprint.dumps.formats.raw import Array, MinibatchError, Raw, check_total, from_json, require
from blueprint.quoting import unquoted

MANIFEST, INDEX, EXPECTED, COMPLETE, PAYLOADS = "manifest.json", "index.json", "expected.json", "COMPLETE", "payloads"
LARGEST_JSON = 1 << 26
"""Bytes of one of the JSON files: the masks of five million tokens, a line each."""
FORMAT = "1"

TENSORS = {
    "old_log_probs": "logprobs_old", "ref_log_probs": "logprobs_ref", "log_probs": "logprobs_new", "entropy": "entropy",
    "advantages": "advantages",
}  # fmt: skip
"""Payloads that are read, and what they are; no other file of the folder is opened."""
SCORED, TRAINED = "reward.raw", "loss.policy"
"""Stages of which a bundle tells whether scores and groups, and whether losses were captured."""
LOGGED = {"loss": "total_loss", "pg_loss": "policy_loss", "entropy_loss": "entropy", "pg_clipfrac": "clip.fraction"}
"""Losses that are compared; ppo_kl is a mean of responses' means, which no row is."""


def is_bundle(path: Path) -> bool:
    """Tells whether a path is the folder of a replay bundle."""
    return path.is_dir() and (path / MANIFEST).is_file() and (path / INDEX).is_file()


def size_of_bundle(path: Path) -> int:
    """Returns how many bytes the tensors of a bundle fill on disk."""
    return sum(each.stat().st_size for name in TENSORS if (each := path / PAYLOADS / f"{name}.pt").is_file())


def read_bundle(path: Path, into: Raw, head_only: bool) -> None:
    """Reads a replay bundle.

    Raises:
        MinibatchError: it was not completed, is of another format, was changed, holds slices of responses, or lengths disagree.
    """
    require((path / COMPLETE).is_file(), f"it has no file {COMPLETE}, which Relax writes last: it is not whole.")
    manifest, index = _json(path / MANIFEST), _json(path / INDEX)
    version = str(manifest.get("format_version"))
    require(
        version.split(".")[0] == FORMAT,
        f"format_version is {unquoted(version)}, expected {FORMAT}.x of Relax's bundles.",
    )
    samples = index.get("samples")
    if not (isinstance(samples, list) and samples and all(isinstance(each, dict) for each in samples)):
        raise MinibatchError(f"{INDEX}: expected samples, an object for each response.")
    identity = _object(index, "identity")
    slices = _object(identity, "rank").get("cp", 1)
    require(
        slices in (0, 1),
        f"{INDEX}, cp is {slices}: with context parallelism it has a slice of each response; use cp 1.",
    )
    stages, payloads = _object(manifest, "stage_contracts"), _object(manifest, "payloads")
    config = _object(index, "config")
    named = {name: neutral for name, neutral in TENSORS.items() if name in payloads}
    if named.pop("ref_log_probs", None) and _number(config, "kl_coef"):
        named["ref_log_probs"] = TENSORS["ref_log_probs"]  # zeros stand there where no KL is paid
    into.metadata = _metadata(path, identity, config, SCORED in stages)
    into.metadata["names"] = named | {"loss_mask": "response_mask"}
    if SCORED in stages:
        into.metadata["names"] |= {"raw_reward": "scores", "group_index": "group"}
    if TRAINED in stages and (path / EXPECTED).is_file():
        into.metadata["logged"] = _logged(_json(path / EXPECTED), len(samples))
    into.names = tuple(into.metadata["names"])
    if not head_only:
        _add(path, samples, payloads, into)


def _metadata(path: Path, identity: dict[str, Any], config: dict[str, Any], scored: bool) -> dict[str, Any]:
    """Returns what the index says, under names that metadata of dumps have; Relax computes as slime does."""
    step = identity.get("actor_step_id")
    found = {
        "library": "Relax",
        "preset": "slime",
        "layout": "response",
        "algorithm": config.get("advantage_estimator", "grpo"),
    }
    if isinstance(step, dict):
        found |= {
            "step": step.get("rollout_id"),
            "minibatch": step.get("step_id"),
            "optimizer_step": step.get("step_id"),
        }
    else:
        found["step"] = identity.get("rollout_id")
    rank = path.name.removeprefix("rank-")
    if rank != path.name and rank.isdecimal():
        found["rank"] = int(rank)
    settings = {
        "loss.clip_low": _number(config, "eps_clip"),
        "loss.clip_high": _number(config, "eps_clip_high"),
        "loss.ent_coef": _number(config, "entropy_coef"),
        "loss.entropy_aggregation": "as_policy",
        "group.std": "group" if config.get("grpo_std_normalization") else "none",
    }
    settings |= {"num_generations": config.get("n_samples_per_prompt")} if scored else {}
    return {name: each for name, each in found.items() if each is not None} | {
        "hyperparameters": {key: each for key, each in settings.items() if each is not None}
    }


def _logged(expected: dict[str, Any], responses: int) -> dict[str, float]:
    """Returns the losses as means over responses."""
    losses = _object(expected, TRAINED)
    return {LOGGED[name]: _number(losses, name) / responses for name in LOGGED if name in losses}


def _add(path: Path, samples: list[dict[str, Any]], payloads: dict[str, Any], into: Raw) -> None:
    """Adds masks, scores and groups of the responses, and the tensors, cut into responses."""
    lengths = [_whole(each, "response_length") for each in samples]
    for row, (each, length) in enumerate(zip(samples, lengths, strict=True)):
        mask = each.get("loss_mask")
        require(
            isinstance(mask, list) and len(mask) == length,
            f"{INDEX}, sample {row}: loss_mask needs {length} entries, as response_length says.",
        )
    named = into.metadata["names"]
    into.add_rows("loss_mask", [np.array(each["loss_mask"]) for each in samples])
    if "raw_reward" in named:
        into.add("raw_reward", np.array([_number(each, "raw_reward") for each in samples], np.float64))
        into.add("group_index", np.array([_whole(each, "group_index") for each in samples], np.int64))
    for name in (name for name in TENSORS if name in named):
        flat, dtype = _payload(path / PAYLOADS / f"{name}.pt", _object(payloads, name), into.size)
        require(
            flat.shape == (sum(lengths),),
            f"{PAYLOADS}/{name}.pt: found {list(flat.shape)}, expected [{sum(lengths)}], the tokens of all responses.",
        )
        into.add_ragged(name, flat, np.array(lengths, np.int64), dtype)


def _payload(path: Path, spec: dict[str, Any], size: int) -> tuple[Array, str]:
    """Returns a tensor, and what its numbers were. Raises MinibatchError for one that is not as the manifest says."""
    content = path.read_bytes()
    require(
        hashlib.sha256(content).hexdigest() == spec.get("sha256"),
        f"{PAYLOADS}/{path.name}: its checksum is not the one in {MANIFEST}: it was changed since it was written.",
    )
    check_total(len(content), size)
    name = f"{PAYLOADS}/{path.name}"
    tensor = plain_tensors(path, f"{name}: torch finds more in it than a plain tensor; it is not opened.")
    require(hasattr(tensor, "detach"), f"{name}: expected a tensor.")
    return detached(name, tensor)


def _json(path: Path) -> dict[str, Any]:
    require(
        path.stat().st_size <= LARGEST_JSON,
        f"{path.name}: larger than {LARGEST_JSON:,} bytes; capture fewer responses.",
    )
    found = from_json(path.read_bytes(), path.name)
    require(isinstance(found, dict), f"{path.name}: expected an object {{…}}.")
    return dict(found)


def _object(found: dict[str, Any], key: str) -> dict[str, Any]:
    inner = found.get(key) or {}
    require(isinstance(inner, dict), f"{unquoted(key)}: found {type(inner).__name__}, expected an object {{…}}.")
    return dict(inner)


def _number(found: dict[str, Any], key: str) -> float:
    number = found.get(key, 0)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise MinibatchError(f"{unquoted(key)}: found {unquoted(str(number))}, expected a number.")
    return float(number)


def _whole(found: dict[str, Any], key: str) -> int:
    number = found.get(key)
    if type(number) is not int:
        raise MinibatchError(f"{INDEX}, {unquoted(key)}: found {unquoted(str(number))}, expected a whole number.")
    return number
