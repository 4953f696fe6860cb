"""A file of Q-learning for the page of `papers`: a map, draws and typed moves, one for each step."""

import numpy as np
import torch
from torch import Tensor

from blueprint.papers.q_learning import Learner, Walk, advantages, learn
from blueprint.papers.value_iteration import places
from blueprint.witness.raw import Named, Page, Raw
from blueprint.witness.settings import block


def results(raw: Raw) -> Named:
    """Return the named results of a file."""
    cells = np.array(raw.words("grid.map"), dtype=object).reshape(np.shape(block(raw.file, "grid.map"))).tolist()
    moves, told = raw.words("move.word"), raw.words("step.typed_move")
    learner = Learner(
        **{key: raw.number(key) for key in ("alpha", "gamma", "epsilon", "initial", "step_reward", "goal_reward")},
        temperature=raw.number("tau") if raw.word("exploration") == "softmax" else None,
    )
    u, episodes = raw.tensor("step.uniform"), len(raw.tensor("episode.number"))
    codes = [moves.index(word.lower()) if word else -1 for word in told]
    walk = learn(cells, learner, u.tolist(), episodes, codes)
    begin = next(iter(places(cells, "S")), 0)
    found = {
        **_steps(walk, learner, raw.number("gae_lambda"), len(u)),
        **_episodes(walk, learner, episodes, len(u), begin),
    }
    return {name: each.to(u) for name, each in found.items()}


def _steps(walk: Walk, learner: Learner, lam: float, draws: int) -> Named:
    """Return a number for each step, 0 behind the last one that counts."""
    rows: dict[str, list[float]] = {
        "step.state": [step.state for step in walk.steps],
        "step.action": [step.move for step in walk.steps],
        "step.earned": [step.reward for step in walk.steps],
        "step.q": [step.old for step in walk.steps],
        "step.td_error": [step.error for step in walk.steps],
        "step.q_new": [step.new for step in walk.steps],
    }
    found = {name: _padded(row, draws) for name, row in rows.items()}
    return found | {"gae.advantage": _padded(advantages(walk, learner.gamma, lam), draws + 1)}


def _padded(row: list[float], size: int) -> Tensor:
    return torch.tensor([*row, *[0.0] * (size - len(row))], dtype=torch.float64)


def _episodes(walk: Walk, learner: Learner, episodes: int, draws: int, begin: int) -> Named:
    """Return the table after each step, and what there is at the end of each episode, or of all steps that there were."""
    tables = [torch.full_like(walk.tables[0], learner.initial), *walk.tables]
    tables += [tables[-1]] * (draws - len(walk.tables))
    ends = [at for at, step in enumerate(walk.steps, 1) if step.done]
    at_end = [*ends, *[len(walk.steps)] * (episodes - len(ends))]
    after = torch.stack([tables[end] for end in at_end])  # [episodes, states, moves]
    best = after.amax(-1)
    rewards = [step.reward for step in walk.steps]
    earned = [sum(rewards[low:high]) for low, high in zip([0, *at_end], at_end, strict=False)]
    steps = torch.tensor(at_end).diff(prepend=torch.zeros(1, dtype=torch.long)).double()
    return {
        "q.table": torch.stack(tables).transpose(-1, -2),
        "episode.q": after,
        "episode.best": best,
        "episode.steps": steps,
        "episode.return": torch.tensor(earned, dtype=torch.float64),
        "episode.start": best[:, begin],
        "final.start": best[-1, begin],
        "final.steps": steps[-1],
        "final.earned": torch.tensor(earned[-1], dtype=torch.float64),
        "final.ended": torch.tensor(float(len(ends))),
    }


COUNTED = ("step.state", "step.action", "step.earned", "step.q", "step.td_error", "step.q_new")
PAGE = Page(results, masks=dict.fromkeys(COUNTED, "step.counts"))
