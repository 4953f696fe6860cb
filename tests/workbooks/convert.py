"""Turn loaded numbers into those of the independent witness: the one place where both forms meet."""

from blueprint.workbooks.rlhf_ppo.inputs.result import WeightNumbers
from tests import golden
from tests.reference import Numbers
from tests.reference_episode import Ppo


def reference_numbers(numbers: WeightNumbers) -> Numbers:
    """Return the numbers as the witness wants them: ids for words, and one draw per possible response word.

    Settings that are not given are those of the printed example, typed there by hand, not the preset of the package.
    """
    ids = {word: number for number, word in enumerate(numbers.vocabulary)}
    rows = zip(numbers.draws, numbers.prompts, strict=True)
    # Columns count from 1, and column len(prompt) draws the first response word.
    draws = [row[len(prompt) - 1 :][: numbers.max_new_tokens].tolist() for row, prompt in rows]
    settings: Ppo = golden.DEFAULT_NUMBERS["ppo"] | numbers.ppo
    return Numbers(
        vocabulary=numbers.vocabulary,
        prompts=[[ids[word] for word in prompt] for prompt in numbers.prompts],
        max_new_tokens=numbers.max_new_tokens,
        draws=draws,
        weights=numbers.weights,
        ppo=settings,
        fixed=[[ids[word] if word else None for word in response] for response in numbers.responses],
    )
