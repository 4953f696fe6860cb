"""Run the models of the independent witness in plain numpy, word after word.

Shapes: k is the embedding size, h the hidden size, V the vocabulary, T the length of this episode's own response.
A model is its weights, found by name: `old.E` (V, k), `old.W` (k + h + 1, h), then `old.Y` (h, V) for a policy, or
`critic.w` (h,) and `critic.b` for a model with a scalar head.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.reference_tokens import Array

EOS = 0


def at_step(weights: Mapping[str, Array], old: str, new: str, step: float) -> dict[str, Array]:
    """Return `weights` with `new.part` = `old.part` + step * `new.delta_part` added, for each part that has a delta."""
    deltas = {name.removeprefix(f"{new}.delta_"): name for name in weights if name.startswith(f"{new}.delta_")}
    return {**weights, **{f"{new}.{part}": weights[f"{old}.{part}"] + step * weights[d] for part, d in deltas.items()}}


def states(weights: Mapping[str, Array], model: str, text: Sequence[int]) -> Array:
    """Return the hidden state after each word of `text`, (len(text), h): h_t = tanh([x_t, h_(t-1), 1] W), h_0 = 0."""
    embedding, recurrent = weights[f"{model}.E"], weights[f"{model}.W"]
    state, visited = np.zeros(recurrent.shape[1]), []
    for word in text:
        state = np.tanh(np.concatenate([embedding[word], state, [1.0]]) @ recurrent)
        visited.append(state)
    return np.array(visited)


def log_softmax(logits: Array) -> Array:
    """Return log-probabilities along the last axis, same shape as `logits`."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def before_decisions(weights: Mapping[str, Array], model: str, prompt: list[int], response: list[int]) -> Array:
    """Return the state from which each response word is decided, (T, h): the last word is decided on, never read."""
    return states(weights, model, prompt + response[:-1])[len(prompt) - 1 :]


def distributions(weights: Mapping[str, Array], model: str, prompt: list[int], response: list[int]) -> Array:
    """Return the log-probability of every word at every decision, (T, V)."""
    return log_softmax(before_decisions(weights, model, prompt, response) @ weights[f"{model}.Y"])


def values(weights: Mapping[str, Array], model: str, prompt: list[int], response: list[int]) -> Array:
    """Return the critic's value of the state before each decision, (T,)."""
    return before_decisions(weights, model, prompt, response) @ weights[f"{model}.w"] + weights[f"{model}.b"]


def score(weights: Mapping[str, Array], text: list[int]) -> float:
    """Return the reward model's one number for the whole text, read after its last word."""
    return float(states(weights, "reward_model", text)[-1] @ weights["reward_model.w"] + weights["reward_model.b"])


def respond(
    weights: Mapping[str, Array], prompt: list[int], draws: Sequence[float], fixed: Sequence[int | None] = ()
) -> tuple[list[int], float]:
    """Let the old policy answer, at most one word per draw; return the word ids and the smallest draw margin.

    Word v is drawn when u lies in [sum of p before v, sum of p up to v); <eos> is the last word of its response. A fixed
    word stands instead of the draw of its place; None, and every place behind the last one, is drawn.
    """
    response: list[int] = []
    margin = np.inf
    for place, u in enumerate(draws):
        word = fixed[place] if place < len(fixed) else None
        if word is not None:
            response.append(word)
            if word == EOS:
                break
            continue
        log_probs = log_softmax(states(weights, "old", prompt + response)[-1] @ weights["old.Y"])
        boundaries = np.cumsum(np.exp(log_probs))[:-1]
        margin = min(margin, float(np.abs(boundaries - u).min()))
        response.append(int((boundaries <= u).sum()))
        if response[-1] == EOS:
            break
    return response, margin
