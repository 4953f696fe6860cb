"""Notes on the sheets Loss and Clip table."""

NOTES: dict[str, str] = {
    "log_ratio": (
        "0 where the update changed nothing. OpenRLHF 0.11.2 and verl 0.9.1 clamp it to ±20 before EXP. Before "
        "the first update it must be 0 in every column: the best single test of a training loop."
    ),
    "ratio": (
        "1: as likely as before; 1.5: half as likely again. Outside the response it is EXP(0) = 1 and not "
        "counted. TRL 0.11.4 throws a minibatch away if its mean ratio is above 10."
    ),
    "surrogate.unclipped": (
        "Its slope in ρ is the advantage. Without the clip nothing would stop the update from moving a good word "
        "ever farther."
    ),
    "ratio.clipped": (
        "Flat outside 1 ± ε, and where it is flat there is no gradient. TorchRL 0.14.1 clamps the log-ratio "
        "instead, with the same result."
    ),
    "surrogate.clipped": "Equal to U as long as the ratio is within 1 ± ε; beyond, it stays where it is.",
    "surrogate": (
        "Takes the worse of the two. A good word earns nothing beyond 1 + ε, a bad one nothing below 1 − ε; in "
        "the wrong direction U counts in full. verl 0.9.1 limits that too: for A < 0 it does not fall below 3·A "
        "(dual clip, always on)."
    ),
    "clip_fraction.changed": (
        "Happens in two of the four corners: ρ above 1 + ε with A > 0, ρ below 1 − ε with A < 0. Such a word has "
        "no gradient in the policy loss."
    ),
    "clip_fraction.outside": (
        "Counts all four corners, also the two in which U is the smaller one and the word goes on learning."
    ),
    "policy_loss": (
        "With whitening it is 0 before the first update, so its size says little about progress; what matters is "
        "its slope. NeMo-Aligner 0.7 leaves out responses that did not end; verl 0.9.1 has four other ways to "
        "average."
    ),
    "value.error": "Above 0 the critic promised too much, below 0 too little.",
    "value.square": "The value loss without the clip. Stable-Baselines3 2.9.2 trains on its mean, without ½.",
    "value.clipped": "V itself if it is within ε_V of V_old. It holds the value as ρ_c holds the ratio.",
    "value.error_clipped": "Differs from e only where the value moved by more than ε_V.",
    "value.square_clipped": (
        "Larger than e² where the clip holds V back from a target that it was moving to: then this one counts, "
        "and it has no gradient."
    ),
    "value.word_loss": (
        "Half of the larger square. TRL 0.11.4, OpenRLHF 0.11.2 and verl 0.9.1 alike. Stable-Baselines3 2.9.2 "
        "has no ½ and, with a clip, no maximum; TorchRL 0.14.1 defaults to smooth L1; RLlib once took the "
        "minimum (ray#2233)."
    ),
    "value_loss": (
        "In squared units of reward, so a large number may only mean large rewards; explained variance, on "
        "Diagnostics, has no units. TRL 1.12 and torchtune bd2a0fc average over one position more, the one past "
        "the end."
    ),
    "entropy": (
        "Falls while the policy learns; near 0 early on it has stopped exploring. trlX 3340c2f and torchtune "
        "bd2a0fc have no entropy term."
    ),
    "policy_kl.k1": "Above 0 where the word became less likely. Its mean is approx_kl.k1 on Diagnostics.",
    "policy_kl.k3": (
        "The same as ρ − 1 − d: never negative, 0 only where nothing changed. Its mean is approx_kl.k3 on Diagnostics."
    ),
    "policy_kl": (
        "In the total only if c3 is not 0. The old policy stands first, as in the paper: the mean is over words "
        "that it drew. The clip of the ratio and this KL are two ways to the same end."
    ),
    "adds.value_loss": (
        "In the total with a plus: a worse critic must make the loss larger. Compare it with the policy loss: "
        "where one optimiser trains both, the larger one leads."
    ),
    "adds.entropy": "Never above 0. With a plus it would reward certainty: the sign error shown in docs/errata.md.",
    "adds.policy_kl": "Never below 0; the four parts of this section add up to the total.",
    "total_loss": (
        "The paper writes a sum to be made larger, here all signs are turned. TRL 0.11.4 and 1.12, trlX 3340c2f, "
        "CleanRL fe8d8a0 and Stable-Baselines3 2.9.2 give one sum to one optimiser; OpenRLHF 0.11.2, verl 0.9.1 "
        "and DeepSpeed-Chat 83757d9 never form it."
    ),
    "share": "Adds up to the total loss. It shows which words the loss is about; often a few make most of it.",
    "case.advantage": "Type 0: the case teaches nothing, whatever its ratio is.",
    "case.ratio": "Type 1 − ε or 1 + ε exactly: there U and U_c meet. Then go a little farther on either side.",
    "case.loss": (
        "Falls as ρ moves the right way, until the clip makes it flat. The wrong way it grows without limit."
    ),
}
