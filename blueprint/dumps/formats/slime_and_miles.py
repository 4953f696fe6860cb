"""What frameworks write of a training step by themselves: slime's and miles' files of `torch.save` become columns of responses
under names that the readers of dumps know. A file is known by its keys; no option says it.

slime, THUDM/slime 624b824:
    --save-debug-train-data (slime/observability/train_data_utils.py, _build_dump_payload): format_version 2, rollout_id, samples
        (one dictionary for each response, in the order of the rollout), dp_shards, and raw_reward of all responses.
    --save-debug-rollout-data (slime/observability/rollout_data_utils.py): rollout_id, samples (Sample.to_dict of utils/types.py).
miles, radixark/miles 31f1ca9:
    --save-debug-train-data (miles/utils/train_dump_utils.py): rollout_id, rank, rollout_data (a list for each name, an entry for
        each response of that rank), cp_rank, cp_size, qkv_format; as slime itself wrote before format_version 2.
    --save-debug-rollout-data (miles/ray/rollout/debug_data.py): rollout_id, metadata, samples.

AReaL, inclusionAI/AReaL 4aef98d:
    rollout.dump_to_file (areal/infra/workflow_executor.py, _dump_trajectory): a JSON line for each response with its texts, lengths
        and reward; nothing can be computed from them, so that such a file is refused.

Tokens are those of prompt and response; everything else that is per token is of the response alone. `rewards` are normalised
already, `raw_reward` are the scores; `log_probs` are those of the policy before the update.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from blueprint.dumps.formats.raw import MinibatchError, require
from blueprint.quoting import unquoted

TRAINING = {
    "tokens": "tokens", "loss_masks": "response_mask", "response_lengths": "response_lengths", "truncated": "truncated",
    "log_probs": "logprobs_old", "ref_log_probs": "logprobs_ref", "rollout_log_probs": "logprobs_rollout", "entropy": "entropy",
    "values": "values_old", "advantages": "advantages", "raw_reward": "scores", "sample_indices": "row_index",
}  # fmt: skip
"""Columns of training data, and what they are."""
OF_A_CRITIC = {"returns": "returns"}
"""What counts beside values alone: without a critic, slime's returns are its advantages before they are whitened."""
SINGULAR = {"sample_index": "sample_indices"}
"""What a column is called in a response of its own."""
ROLLOUT = {
    "tokens": "tokens", "loss_mask": "response_mask", "response_length": "response_lengths", "rollout_log_probs": "logprobs_old",
    "reward": "scores", "group_index": "group", "truncated": "truncated",
}  # fmt: skip
"""Fields of a response of a rollout, and what they are: its only log-probs are those of the generating engine."""
OF_TOKENS = {
    "loss_masks", "log_probs", "ref_log_probs", "rollout_log_probs", "entropy", "values", "advantages", "returns", "loss_mask",
}  # fmt: skip
SAMPLES, COLUMNS, STEP, SHARDS = "samples", "rollout_data", "rollout_id", "dp_shards"
OF_MILES = ("cp_size", "qkv_format", "metadata")


OF_AREAL = {"task_id", "sample_idx", "head_version", "tail_version", "completion", "reward"}


def refuse_texts(names: Collection[str]) -> None:
    """Refuses the trajectories of AReaL, by the names in a line of a jsonl file.

    Raises:
        MinibatchError: saying what such a line has, and what a dump needs.
    """
    require(
        not set(names) >= OF_AREAL,
        "these are trajectories as AReaL's rollout.dump_to_file writes them: texts, lengths and a reward, no log-probs, from which "
        "nothing can be computed; save the tensors of the batch behind compute_advantages with safetensors.torch.save_file.",
    )


@dataclass
class Written:
    """What a framework wrote: columns by its own names, an entry for each response; metadata as ours; and what was assumed."""

    columns: dict[str, list[Any]]
    metadata: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def written_by(found: Mapping[Any, Any]) -> Written | None:
    """Returns what slime or miles wrote, None for a dictionary of anybody else's.

    Raises MinibatchError where a file is one of theirs and cannot be read: no responses, slices of responses, or lengths that
    disagree.
    """
    if STEP not in found:
        return None
    library = "miles" if any(name in found for name in OF_MILES) else "slime"
    if isinstance(found.get(COLUMNS), dict):
        _refuse_slices(found)
        return _trained(*_columns(found[COLUMNS]), found, library)
    if isinstance(found.get(SAMPLES), list) and all(isinstance(each, dict) for each in found[SAMPLES]):
        samples = found[SAMPLES]
        require(len(samples) > 0, f"{SAMPLES} is empty: {library} wrote no response of rollout {found[STEP]}.")
        if SHARDS in found:
            return _trained(_transposed(samples, found), [], found, library)
        return _rolled_out(samples, found, library)
    return None


def _refuse_slices(found: Mapping[Any, Any]) -> None:
    size = found.get("cp_size", 1)
    require(
        size == 1,
        f"cp_size is {size}: with context parallelism miles writes a slice of each response into the file of each rank, which is "
        "no whole response; write the dump of a run with --context-parallel-size 1.",
    )


def _columns(rollout_data: Mapping[Any, Any]) -> tuple[dict[str, list[Any]], list[str]]:
    """Returns the columns of a rank, with an entry for each of its responses, and notes; `raw_reward` is of the whole batch."""
    count = len(rollout_data.get("response_lengths", ()))
    require(count > 0, f"{COLUMNS} has no response_lengths: it is no training data of slime or miles.")
    columns = {str(name): list(each) for name, each in rollout_data.items() if _is_list(each) and len(each) == count}
    whole = rollout_data.get("raw_reward")
    if not _is_list(whole) or len(whole) == count:
        return columns, []
    columns["raw_reward"], note = _own_rewards(whole, columns)
    return {name: each for name, each in columns.items() if len(each) == count}, [note] if note else []


def _own_rewards(whole: Sequence[Any], columns: Mapping[str, list[Any]]) -> tuple[list[Any], str]:
    """Returns the scores of a rank's own responses by their places in the batch, and a note; none where nothing tells the places.

    miles drops `partition` before it writes; `sample_indices` count the responses of the run, so that a batch of B of them
    begins at a multiple of B, but not where prompts were sampled again.
    """
    places, count = columns.get("partition", []), len(whole)
    if places:
        return [whole[int(each)] for each in places if 0 <= int(each) < count], ""
    indices = [each for each in columns.get("sample_indices", []) if isinstance(each, int)]
    if len(indices) != len(columns["response_lengths"]) or len({each // count for each in indices}) != 1:
        return [], f"raw_reward is left aside: it has {count} scores, and nothing says which are those of this rank"
    note = f"raw_reward has {count} scores: those of this rank are taken by sample_indices, counted from a multiple of {count}"
    return [whole[each % count] for each in indices], note


def _transposed(samples: Sequence[Mapping[Any, Any]], found: Mapping[Any, Any]) -> dict[str, list[Any]]:
    """Returns the columns of slime's responses; scores stand once, in the order of the rollout."""
    names = [str(name) for name in samples[0] if all(name in each for each in samples)]
    columns = {SINGULAR.get(name, name): [each[name] for each in samples] for name in names}
    whole, places = found.get("raw_reward"), columns.get("rollout_position", range(len(samples)))
    if _is_list(whole) and all(isinstance(each, int) and 0 <= each < len(whole) for each in places):
        columns["raw_reward"] = [whole[each] for each in places]
    return columns


def _trained(columns: dict[str, list[Any]], notes: list[str], found: Mapping[Any, Any], library: str) -> Written:
    """Returns training data; without values it is a step of GRPO's family."""
    known = TRAINING | (OF_A_CRITIC if "values" in columns else {})
    metadata = _metadata(found, library) | ({} if "values" in columns else {"algorithm": "grpo"})
    if COLUMNS in found and isinstance(found.get("rank"), int):
        metadata["rank"] = found["rank"]
    if COLUMNS in found and _is_list(found[COLUMNS].get("raw_reward")):
        metadata["rollout_responses"] = len(found[COLUMNS]["raw_reward"])
    if "log_probs" not in columns and "rollout_log_probs" in columns:
        known = {**known, "rollout_log_probs": "logprobs_old"}
        metadata["logprobs_old_from"] = "engine"
        notes.append("no log_probs: the old log-probs are the generating engine's, as with --use-rollout-logprobs")
    return _checked(columns, known, metadata, notes)


def _rolled_out(samples: Sequence[Mapping[Any, Any]], found: Mapping[Any, Any], library: str) -> Written:
    """Returns a rollout before it was trained on: tokens, the engine's log-probs and scores."""
    columns = {name: [each.get(name) for each in samples] for name in ROLLOUT if any(name in each for each in samples)}
    masks = columns.get("loss_mask", [None] * len(samples))
    columns["loss_mask"] = [
        [0 if each.get("remove_sample") else 1] * int(each.get("response_length", 0))
        if mask is None or each.get("remove_sample")
        else mask
        for mask, each in zip(masks, samples, strict=True)
    ]
    columns["truncated"] = [int(each.get("status") == "truncated") for each in samples]
    metadata = _metadata(found, library) | {"algorithm": "grpo", "logprobs_old_from": "engine"}
    notes = ["a rollout before the training step: its log-probs are the generating engine's, and it has no advantages"]
    return _checked(columns, ROLLOUT, metadata, notes)


def _metadata(found: Mapping[Any, Any], library: str) -> dict[str, Any]:
    """Returns library and step; an evaluation's id is a word, and says no step. miles computes as slime does."""
    step = found[STEP]
    known = {"library": library, "layout": "response", "preset": "slime" if library == "miles" else None}
    return {name: each for name, each in known.items() if each} | ({"step": step} if isinstance(step, int) else {})


def _checked(
    columns: Mapping[str, list[Any]], known: Mapping[str, str], metadata: dict[str, Any], notes: list[str]
) -> Written:
    """Keeps the columns that are known, and of which every response has an entry; says which are not."""
    kept: dict[str, list[Any]] = {}
    lengths = [int(each) for each in columns.get("response_lengths", columns.get("response_length", ()))]
    for name in (name for name in known if name in columns):
        values = columns[name]
        lacking = sum(each is None for each in values)
        if lacking:
            have = "has" if lacking == 1 else "have"
            notes += [f"{name} is left aside: {lacking} of {len(values)} responses {have} none"] * (
                lacking < len(values)
            )
            continue
        _check_values(name, values)
        if name in OF_TOKENS and lengths:
            _check_lengths(name, values, lengths)
        kept[name] = values
    return Written(kept, metadata | {"names": {name: known[name] for name in kept}}, notes)


def _check_values(name: str, values: Sequence[Any]) -> None:
    """Refuses objects, as the rewards of several functions are."""
    for row, each in enumerate(values):
        if isinstance(each, dict):
            keys = unquoted(", ".join(map(str, each)))
            raise MinibatchError(
                f"row {row}: {name} is an object with {keys}: write the one that counts, as --reward-key names it, into the file."
            )


def _check_lengths(name: str, values: Sequence[Any], lengths: Sequence[int]) -> None:
    """Refuses a column that is not as long as the responses, as slices of context parallelism are."""
    for row, (each, length) in enumerate(zip(values, lengths, strict=True)):
        found = len(each) if hasattr(each, "__len__") else -1
        if found != length:
            raise MinibatchError(
                f"row {row}: {name} has {found} entries, its response_length is {length}: a slice, as context parallelism "
                "leaves it? Write the dump of a run with --context-parallel-size 1."
            )


def _is_list(found: Any) -> TypeGuard[Sequence[Any]]:
    """Tells whether it is a list, or a tensor or array with rows."""
    return isinstance(found, list | tuple) or (hasattr(found, "tolist") and getattr(found, "ndim", 0) >= 1)
