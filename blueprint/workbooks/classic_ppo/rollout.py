"""Rollout: what happened in the environments, and what the policy and the critic said of it before and after the update."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, block, link, size, typed
from blueprint.page.outline import Note, Row, Section, Sheet, key, minor
from blueprint.workbooks.classic_ppo import sources
from blueprint.workbooks.classic_ppo.axes import a, n, t
from blueprint.workbooks.classic_ppo.policy import Policy, policy

LEAD = "what happened in every environment, step by step; how likely the policy found its actions, before and after the update"
ENDS = "done marks the step after which an episode ended; the next column begins another one. The end column holds V(next)."
TERMINATED = "terminated is 1 where the task itself ended, 0 where only a time limit cut the episode off."


class InView(NamedTuple):
    """The rows (n, t) that stay in view on every sheet: the action taken, by its id, and whether the episode then ended."""

    actions: Block
    done: Block

    def on(self, sheet: str) -> InView:
        """Repeats both rows on another sheet."""
        return InView(link(f"{sheet}.actions", self.actions), link(f"{sheet}.done", self.done))


class Counts(NamedTuple):
    """How many environments, steps in each, steps in all, and actions there are."""

    environments: Block
    steps: Block
    N: Block
    actions: Block


class Rollout(NamedTuple):
    """The sheet and what others read from it; V_old has an end column, the value after the last step."""

    sheet: Sheet
    head: InView
    rewards: Block
    terminated: Block
    old: Policy
    new: Policy
    V_old: Block
    V_new: Block
    counts: Counts


def rollout() -> Rollout:
    """Outlines the sheet of what is given."""
    head = InView(
        typed("actions", (n, t), "a_t", "action taken, counted from 0", decimals=0),
        typed("done", (n, t), "done", "1 where the episode ended after the step", unit="0 or 1", decimals=0),
    )
    r = typed("rewards", (n, t), "r", "reward of the step", decimals=2)
    over = typed("terminated", (n, t), "over", "1 where the task itself ended", unit="0 or 1", decimals=0)
    told = "value before the step; at the end V(next)"
    V_old = typed("values.old", (n, t), "V_old", told, decimals=2, source=sources.BOOTSTRAP, edges=(t.last + 1,))
    V_new = typed("values.new", (n, t), "V", "value of the new critic before the step", decimals=2)
    old = policy("old", "old policy", head.actions)
    new = policy("policy", "new policy", head.actions)
    many = counts()
    sections = (
        Section("What happened", (Note(ENDS), Note(TERMINATED), r, over)),
        Section("What the critic said, before and after the update", (V_old, V_new)),
        _policy_section("The policy that acted: soft-max of its scores", old),
        _policy_section("The policy after the update, asked about the same steps", new),
        Section("How many there are", many),
    )
    return Rollout(Sheet("Rollout", LEAD, sections, (n, t), head), head, r, over, old, new, V_old, V_new, many)


def counts() -> Counts:
    """Counts what there is; a mean is over all steps of all environments."""
    environments = block("count.environments", (), "N_env", "environments", decimals=0)
    steps = block("count.steps", (), "T", "steps in each of them", decimals=0)
    N = block("count", (), "N", "steps in all", decimals=0)
    actions = block("count.actions", (), "N_act", "actions to choose from", decimals=0)
    environments[()] = size(n)
    steps[()] = size(t)
    N[()] = environments * steps
    actions[()] = size(a)
    return Counts(environments, steps, N, actions)


def _policy_section(title: str, made: Policy) -> Section:
    over = made.over
    steps = map(minor, (over.top, over.exponentials, over.logsumexp, over.logp))
    return Section(title, (over.logits, *steps, Row(over.p, "probability"), over.p_log_p, key(made.logprobs)))
