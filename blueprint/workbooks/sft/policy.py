"""What the policy says: logits, given or made by a network that reads the texts, soft-max, and the log-prob of every label."""

from blueprint.language import Block, link, typed
from blueprint.page.outline import Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    InView,
    Rows,
    chosen_logprobs,
    entropy,
    logits,
    memory_weights,
    named,
    rnn,
    sheet_of,
    softmax,
    word_weights,
)
from blueprint.workbooks.common.sheets.critics import memory_sections
from blueprint.workbooks.sft.definitions.axes import n, t, v
from blueprint.workbooks.sft.definitions.steps import LABELS
from blueprint.workbooks.sft.definitions.steps import Row as Lined

LEAD = "π_θ, the policy in training, reads each text and says how likely it finds every label; the loss moves it"
WEIGHTS = ("policy.E", "policy.W", "policy.Y")


def given_logits() -> tuple[Block, tuple[Section, ...]]:
    """Makes typed logits."""
    z = typed("policy.logits", (n, t, v), "z", "logit of every next token", decimals=2)
    return z, (Section("Logit of every next token (typed)", (z,)),)


def run_network(given: Rows) -> tuple[Block, tuple[Section, ...]]:
    """Runs the network over the texts, whose own tokens it reads, whatever it finds likely (teacher forcing)."""
    memory, Y, read = memory_weights("policy"), word_weights("policy"), link("policy.read", given["rollout.read"])
    network = rnn("policy", read, memory)
    z = logits("policy", network.h, Y)
    return z, (*memory_sections(memory, Y, read, network), Section("Logit of every next token", (z,)))


def policy_sheet(z: Block, above: tuple[Section, ...], label: Lined, head: InView) -> tuple[Sheet, Rows]:
    """Outlines the policy from its logits on; returns the sheet, and what is read of it. above: how the logits came about."""
    words = softmax("policy", z, LABELS)
    written = link("policy.written", label.block)
    logprobs = chosen_logprobs("policy", words.logp, written, use=LABELS)
    chosen = LABELS.row("policy.label_logit", z[n, t, written[n, t]])
    unsure = entropy("policy", words.p_log_p, use=LABELS)
    steps = map(minor, (words.top, words.exponentials, words.logsumexp, words.logp))
    sections = [
        *above,
        Section("Probability of every next token: soft-max", (*steps, Row(words.p, "probability"))),
        Section("The label", (written, minor(chosen), key(logprobs), minor(words.p_log_p), unsure)),
    ]
    sheet = sheet_of("Policy", LEAD, sections, head.on("policy"))
    return sheet, named(words.top, words.p, logprobs, chosen, unsure)
