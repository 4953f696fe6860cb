"""Notes on the rows that only the workbook of a real minibatch has."""

NOTES: dict[str, str] = {
    "episode.number": "As in arr[0]: to look a number up in the dump, take this row and the column below.",
    "slot.column": "Where the dump keeps prompt and response in one array, the first response word has a column above 0.",
    "after.words": "Without it the last column shown would look like the end of the response, and a score might land on it.",
    "after.ahead": "The value that δ of the last column looks at. 0 where the response ends within the columns shown.",
    "after.advantages": (
        "A[t + 1] of the last column shown: with it the recursion goes on as if the rest of the response stood here."
    ),
    "policy.words": "N of the token mean is of the whole minibatch: a mean over the words shown would be another loss.",
    "value.words": "One per response more than N_π where the value loss counts the slot behind the last word (TRL 1.12).",
    "policy.responses": "B' of the sequence means: responses with at least one word that counts.",
    "rest.policy": "Weighted as the words shown are, so that the sum of both is the sum of the whole minibatch.",
    "rest.kl": "Part of the total only where the KL is paid in the loss.",
    "logged.rewards": "Compare here first: everything below follows from it.",
    "logged.advantages_used": "Most libraries save them whitened; if only this row differs, look at mean, variance and ddof.",
    "logged.advantages": "Saved before whitening: these are the raw ones.",
    "logged.returns": "Made of the raw advantages, whichever of the two the dump has: verl 0.9.1 whitens after it has added V.",
    "logged.score.placed": "One column further is the convention of TRL 1.12, DeepSpeed-Chat 83757d9 and torchtune bd2a0fc.",
}
