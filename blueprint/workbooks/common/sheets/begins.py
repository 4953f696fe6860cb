"""Where the numbers of each level begin, in the words of the first sheet."""

BEGINS = {
    "weights": "tokens and weights",
    "logits": "logits, values and scores",
    "tokens": "log-probs, values and scores",
    "minibatch": "a dump of a training step",
    "classic": "rewards, values and scores of actions",
    "controller": "the KL of whole responses",
    "responses": "logits and scores of several responses to each prompt",
    "bandit": "rewards of single tokens and uniform draws",
    "enumerated": "the logits and rewards of every response",
    "choices": "weights; a chosen and a rejected response to each prompt",
    "preferences": "logits of pairs, chosen and rejected",
    "pair-logprobs": "pairs of one's own, with log-probs where there are any",
    "demonstrations": "demonstrations and weights",
    "labelled": "demonstrations and logits",
    "scores": "a score after every token, and which response is better",
    "rankings": "tokens and weights, and which response is better",
    "prompts": "weights, draws and rules; several responses to each prompt",
    "rollouts": "rewards, and log-probs where there are any, of several responses to each prompt",
}
"""Where the numbers of a workbook begin, by its level."""
