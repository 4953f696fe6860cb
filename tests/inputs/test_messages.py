"""Every refusal of what a file or an override says, word for word."""

from pathlib import Path

import pytest

from blueprint.inputs import load
from blueprint.inputs.errors import NumbersError

WORDS = 'vocabulary = ["<eos>", "dog", "cat"]'

# (lines of a file after its level, sentence)
SIZES = [
    ("[sizes]\nhidden = 40", "sizes.hidden: found 40, expected 1 to 32."),
    ("[sizes]\nhidden = 4.0", "sizes.hidden: found 4.0, expected a whole number."),
    ("[sizes]\nhidden = true", "sizes.hidden: found true, expected a whole number."),
    (f"[sizes]\nhidden = 0x{'f' * 5000}", "sizes.hidden: found a huge whole number, expected 1 to 32."),
    ("[old]\nE = []", "old.E: found vocabulary = 0, expected 2 to 64."),
    ("[old]\nW = []", "old.W: found hidden = 0, expected 1 to 32."),
    ('[text]\nvocabulary = ["a"]', "text.vocabulary: found vocabulary = 1, expected 2 to 64."),
    ("[text]\nprompts = []", "text.prompts: found episodes = 0, expected 1 to 64."),
    (
        "[sizes]\nprompt = 1\nmax_new_tokens = 500",
        "sizes.max_new_tokens: found 500, expected 1 to 499.",
    ),
    (
        "[sizes]\nprompt = 2\nmax_new_tokens = 499",
        "sizes.max_new_tokens: found 2 prompt tokens and 499 new tokens, expected at most 500 tokens together.",
    ),
]
SHAPES = [
    ("[old]\nE = [[1, 2], [3, 4]]\nY = [[1, 2, 3]]", "old.Y: found vocabulary = 3, expected 2, as old.E says."),
    (
        "[sizes]\nhidden = 2\n[old]\nW = [[1, 2]]",
        "old.W: found embedding + hidden + 1 = 1, expected 6.",
    ),
    ("[old]\nE = [[1, 2], [3]]", "old.E, row 2: found 1 number, expected 2, as many as in every row."),
    ("[sizes]\nhidden = 4\n[old_critic]\nw = [1]", "old_critic.w: found hidden = 1, expected 4, as sizes.hidden says."),
    (
        "[sizes]\nepisodes = 1\n[rollout]\ndraws = [[0.5], [0.5]]",
        "rollout.draws: found episodes = 2, expected 1, as sizes.episodes says.",
    ),
    ("[old]\nE = [1]", "old.E, item 1: found 1, expected a list."),
    ("[old_critic]\nb = [1]", "old_critic.b: found a list of 1, expected a number."),
]
NUMBERS = [
    ("[old]\nE = [[1, 2], [3, nan]]", "old.E, row 2, item 2: found nan, expected a finite number."),
    ("[critic]\ndelta_w = [0, -inf]", "critic.delta_w, item 2: found -inf, expected a finite number."),
    ("[old_critic]\nb = 1e308", "old_critic.b: found 1e+308, expected at most 9.99e+307, all that a cell holds."),
    (f"[old_critic]\nb = {'9' * 400}", "old_critic.b: found a huge whole number, expected a number."),
    ("[old_critic]\nb = true", "old_critic.b: found true, expected a number."),
    ("[old_critic]\nb = 1979-05-27", "old_critic.b: found 1979-05-27, expected a number."),
    ("[old_critic.b]\nx = 1", "old_critic.b: found a table, expected a number."),
    (
        "[rollout]\ndraws = [[0.5, 0.995]]",
        "rollout.draws, row 1, item 2: found 0.995, expected a number from 0.01 to 0.99.",
    ),
    ("seed = -1", "seed: found -1, expected a whole number from 0 to 4294967295."),
    ("[ppo]\ngamma = 1.5", "ppo.gamma: found 1.5, expected a number from 0 to 1."),
    ("[ppo]\nwhiten_eps = 0", "ppo.whiten_eps: found 0, expected a number from 1e-12 to 1."),
    ('[ppo]\nkl_estimator = "k4"', 'ppo.kl_estimator: found "k4", expected "k1" or "k2" or "k3" or "abs" or "full".'),
    ("[ppo]\nwhiten_advantages = true", 'ppo.whiten_advantages: found true, expected "on" or "off" or "keep_mean".'),
]
TEXTS = [
    ("title = 3", "title: found 3, expected text in quotes."),
    ('title = "a\\nb"', 'title: found "a\\nb", expected text without control characters.'),
    (f'title = "{"x" * 101}"', f'title: found "{"x" * 59}…", expected at most 100 characters.'),
    ('[text]\nvocabulary = ["a", ""]', 'text.vocabulary, item 2: found "", expected a word of at least one character.'),
    ('[text]\nvocabulary = ["a", "b c"]', 'text.vocabulary, item 2: found "b c", expected a word without blanks.'),
    (
        f'[text]\nvocabulary = ["a", "{"b" * 41}"]',
        f'text.vocabulary, item 2: found "{"b" * 41}", expected at most 40 characters.',
    ),
    (
        '[text]\nvocabulary = ["a", "b?"]',
        'text.vocabulary, item 2: found "b?", expected a word without * ? ~, which a spreadsheet reads as patterns.',
    ),
    (
        '[text]\nvocabulary = ["a", "#n/a"]',
        'text.vocabulary, item 2: found "#n/a", expected a word that a spreadsheet does not take for an error.',
    ),
    (
        '[text]\nvocabulary = ["a", "Dog", "dog"]',
        'text.vocabulary: found "Dog" and "dog", expected tokens that differ by more than case.',
    ),
    (
        '[sizes]\nvocabulary = 3\n[text]\nvocabulary = ["a", "b"]',
        "text.vocabulary: found vocabulary = 2, expected 3, as sizes.vocabulary says.",
    ),
    ("[text]\nvocabulary = 3", "text.vocabulary: found 3, expected a list."),
    ('[text]\nprompts = [""]', 'text.prompts, item 1: found "", expected at least one word.'),
    ("[text]\nprompts = [[]]", "text.prompts, item 1: found a list of 0, expected at least one word."),
    (
        f'[text]\n{WORDS}\nprompts = ["dog cot"]',
        'text.prompts, row 1, item 2: found "cot", not in the vocabulary, did you mean cat?',
    ),
    (
        f'[text]\n{WORDS}\nprompts = ["Dog"]',
        'text.prompts, row 1, item 1: found "Dog", not in the vocabulary, did you mean dog?',
    ),
    (
        f'[text]\n{WORDS}\nprompts = ["xyz"]',
        'text.prompts, row 1, item 1: found "xyz", not in the vocabulary, write one of dog, cat.',
    ),
    (
        f'[text]\n{WORDS}\nprompts = [["dog", "<eos>"]]',
        'text.prompts, row 1, item 2: found "<eos>", expected a token that does not end the text.',
    ),
    (
        '[sizes]\nepisodes = 2\n[text]\nprompts = ["the"]',
        "text.prompts: found episodes = 1, expected 2, as sizes.episodes says.",
    ),
    (
        '[sizes]\nprompt = 3\n[text]\nprompts = ["the"]',
        "text.prompts: found prompt = 1, expected 3, as sizes.prompt says.",
    ),
]
KEYS = [
    ("[sizes]\nhiden = 4", "sizes.hiden: unknown key, did you mean sizes.hidden?"),
    ("sise = 3", "sise: unknown key, did you mean sizes?"),
    ("kl_coef = 0.2", "kl_coef: unknown key, did you mean ppo.kl_coef?"),
    ("[old]\nw = [[1]]", "old.w: unknown key, did you mean old.W?"),
    ("[text]\ndraws = 1", "text.draws: unknown key, did you mean rollout.draws?"),
    ("[policy]\nE = 1", "policy.E: unknown key, did you mean policy.delta_E?"),
    ("[critic]\nw = 1", "critic.w: unknown key, did you mean critic.delta_w?"),
    ("[rollout]\nxyz = 1", "rollout.xyz: unknown key, write one of rollout.draws, rollout.responses."),
    (
        '"x\\ny" = 1',
        "x\\ny: unknown key, write one of level, title, about, gradients, seed, preset, conventions, compare, sizes, "
        + "text, rollout, ppo, …",
    ),
    ("ppo = 3", "ppo: found 3, expected a table."),
]


@pytest.mark.parametrize(("lines", "sentence"), SIZES + SHAPES + NUMBERS + TEXTS + KEYS)
def test_file_of_level_weights(tmp_path: Path, lines: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'level = "weights"\n{lines}\n', encoding="utf-8")
    with pytest.raises(NumbersError) as refused:
        load(path)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "per_token.values=[[1,2]]",
            "per_token.values, row 1: found 2 numbers, expected 3, one per token, as per_token.words has.",
        ),
        (
            "per_token.scores=[[0,0,5],[1]]",
            "per_token.scores: found 2 rows, expected 1, one per episode, as per_token.words has.",
        ),
        ("per_token.words=[]", "per_token.words: found 0 episodes, expected 1 to 64."),
        ("per_token.words=[[]]", "per_token.words, row 1: found 0 tokens, expected 1 to 500."),
        (
            "per_token.logprobs_ref=[[-1,0,0.1]]",
            "per_token.logprobs_ref, row 1, item 3: found 0.1, expected a log-probability of at most 0.",
        ),
        ("cases.ratios=[0,1,1,1]", "cases.ratios, item 1: found 0, expected a ratio of probabilities above 0."),
        ("cases.ratios=[1]", "cases.ratios: found 1 number, expected 4, one per case, as cases.advantages has."),
        ("per_token={}", "per_token.words: found nothing, expected a value, as nothing is drawn at this level."),
        ("seed=1", "seed: not at this level; numbers that begin at weights have it."),
        (
            "level=wights",
            'level: found "wights", expected "weights" or "logits" or "per-token" or "classic" or "choices" or "preferences" or '
            '"pair-logprobs" or "prompts" or "responses" or "rollouts" or "controller" or '
            '"enumerated" or "bandit" or "rankings" or "scores" or "demonstrations" or "labelled".',
        ),
    ],
)
def test_level_per_token(override: str, sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load("very-very-sleepy", [override])
    assert str(refused.value) == sentence


def test_an_unknown_key_is_named_before_what_is_missing_because_of_it() -> None:
    with pytest.raises(NumbersError) as refused:
        load("very-very-sleepy", ['per_token={wrds=[["a"]]}'])
    assert str(refused.value) == "per_token.wrds: unknown key, did you mean per_token.words?"
