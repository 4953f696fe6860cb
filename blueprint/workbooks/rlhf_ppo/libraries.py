"""Libraries: the same batch by the conventions of several libraries, a row for each under every quantity."""

from dataclasses import replace
from typing import NamedTuple

from blueprint.inputs.setting import in_groups
from blueprint.language import Arithmetic, Axis, Block, Sum, block, equal, join, link, match, transposed, typed
from blueprint.page.outline import Item, Note, Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    GROUPS,
    PRESET,
    Choices,
    Chosen,
    InView,
    Loss,
    Places,
    Rows,
    Switch,
    by_name,
    labels,
    loss,
    loss_sheet,
    metrics_of,
    sheet_of,
    signal,
    signal_sheet,
)
from blueprint.workbooks.rlhf_ppo.steps import Steps

Sections = tuple[Section, ...]
LIBRARY = Axis("l", "library", start=1)
LEAD = "the same tokens, log-probs, values and scores by the conventions of several libraries: find the row where they part"
FIXED = "Tokens and log-probs are those of this workbook, the temperature included: what a library samples anew is not shown."
WHERE = "Rows of steps on the way are folded; the sign at the left of a row opens them."
WHICH = "one batch, several answers: what each library computes, what it does differently, and why"
START = {
    **{f"place.{place}": place for place in Places._fields},
    "slots": "S",
    "old.logprobs": "logp_old",
    "reference.logprobs": "logp_ref",
    "policy.logprobs": "logp_new",
    "kl.exact": "kl_old_ref",
    "kl_new.exact": "kl_new_ref",
    "policy_kl.exact": "policy_kl",
    "policy.entropy": "entropy",
    "old_critic.values": "V_old",
    "critic.values": "V_new",
    "score.given": "score",
    "response.slots": "slots",
    "response.ended": "by_word",
    "response.padded": "by_pad",
    "response.most": "most",
}
"""What every library starts from, and what it is called where it is repeated."""
SHOWN = ("approx_kl.used", "clip_fraction.used", "clip_fraction.value", "ratio.mean", "kl.statistic", "ev.used")
"""Metrics that are listed with the losses."""
DIFFERS = '"differs";;"·"'


class Preferred(NamedTuple):
    """What each library does: names, their numbers in the table, a row per setting, and the number of each word."""

    names: Block
    number: Block
    rows: dict[str, Block]
    words: dict[str, Block]

    def choices(self, settings: dict[str, Switch]) -> Choices:
        """Returns what the definitions read: one set of conventions for each library."""
        used: dict[str, Arithmetic] = {key: row[LIBRARY] for key, row in self.rows.items()}
        switch = {key: Switch(settings[key].words, number[LIBRARY]) for key, number in self.words.items()}
        return Choices(used, switch, (LIBRARY,), "library.", labels=labels("live"))


def compared(steps: Steps, chosen: Chosen) -> tuple[Sheet, Sheet]:
    """Runs every library's conventions over the batch, and sets them side by side; the head of the second sheet names them."""
    like = _preferred(chosen)
    use = like.choices(chosen.settings.switch)
    start = {name: link(f"libraries.{again}", steps.rows[name]) for name, again in START.items()}
    given = {**start, **{name: steps.rows[name] for name in ("mask", "explained_variance.floor")}}
    made = signal(given, use)
    out = loss({**given, **made.rows}, use)
    metrics = metrics_of(out, use)
    outline = (*signal_sheet.sections(made), *loss_sheet.sections(out))
    libraries = _libraries(start, given["mask"], outline, metrics, steps.head.on("libraries"))
    return libraries, _which(like, out, metrics, chosen)


def _preferred(chosen: Chosen) -> Preferred:
    """Looks up what each library does."""
    table, rows, words = chosen.table, {}, {}
    names = typed("library.names", (LIBRARY,), "library", "library, by the name of its preset", text=True)
    number = block("library.number", (LIBRARY,), "preset_no_l", "its number in the table, from 0", decimals=0)
    number[LIBRARY] = match(PRESET, table.names[PRESET], names[LIBRARY])
    for setting, used in chosen.settings.used.items():
        about = used.about
        row = block(f"library.{setting}", (LIBRARY,), f"{about.symbol}_l", about.meaning, decimals=about.decimals)
        row[LIBRARY] = table.rows[setting][number[LIBRARY]]
        rows[setting] = row
        if setting in chosen.settings.switch:
            alternatives = chosen.settings.words[setting]
            axis = alternatives.axes[0]
            meaning, symbol = f"number of the option {row.symbol}", f"{about.symbol.removesuffix('_is')}_no_l"
            words[setting] = block(f"library.{setting}.number", (LIBRARY,), symbol, meaning, decimals=0)
            words[setting][LIBRARY] = match(axis, alternatives[axis], row[LIBRARY])
    return Preferred(names, number, rows, words)


def _libraries(start: Rows, mask: Block, outline: tuple[Section, ...], metrics: Sections, head: InView) -> Sheet:
    """Outlines the rows: what all start from, then every step, of which only the results are unfolded."""
    sections = [Section("What all start from", (Note(FIXED), Note(WHERE), *map(minor, start.values())))]
    placed = {*start.values(), mask}
    for section in outline:
        items = tuple(item for item in map(_folded, section.items) if item.block not in placed)
        placed |= {item.block for item in items}
        sections.append(Section(section.title, items))
    logged = tuple(item for section in metrics for item in map(_folded, section.items))
    sections.append(Section("What is watched", logged))
    return replace(sheet_of("Libraries", LEAD, sections, head, first=0), closed=True)


def _folded(item: Item) -> Row:
    """Folds every row that is not one of those that one looks for."""
    if isinstance(item, Row):
        return item if item.role == "key" else minor(item.block, item.role)
    assert isinstance(item, Block)
    return minor(item)


def _which(like: Preferred, out: Loss, metrics: Sections, chosen: Chosen) -> Sheet:
    """Outlines what each library does, where that differs from the settings in use, what comes of it, and why."""
    flags, count = _differences(like, chosen)
    why = block("library.why", (LIBRARY,), "why", "what sets it apart")
    why[LIBRARY] = chosen.why[like.number[LIBRARY]]
    results = Section("What comes of it: the losses and what is watched, on this batch", _results(out, metrics))
    sections = [results, Section("How far it is from the settings in use", (key(count), Row(flags, "word")))]
    for title, keys in in_groups(like.rows, GROUPS):
        rows = tuple(_word(like.rows[key]) for key in keys)
        sections.append(Section(f"What it does: {title[0].lower()}{title[1:]}", rows))
    numbers = tuple(map(minor, (like.number, *like.words.values())))
    sections.append(Section("The numbers of the options, for the formulas", numbers))
    sections.insert(1, Section("Why", (Row(why, "paragraph"),)))
    return Sheet("Which PPO", WHICH, tuple(sections), (LIBRARY,), (like.names,))


def _word(row: Block) -> Row:
    """Centres words, and limits, which may be one."""
    return Row(row, "word" if row.text or row.limit else "")


def _differences(like: Preferred, chosen: Chosen) -> tuple[Block, Block]:
    """Marks the conventions in which a library is not as the settings in use, a row each, and counts them."""
    used, switch = chosen.settings.used, chosen.settings.switch
    parts = {key: Axis(block.symbol, block.about.meaning, size=1) for key, block in used.items()}
    convention = join("i", "convention", *parts.values())
    flags = block(
        "library.differs", (convention, LIBRARY), "differs", "1 where a convention differs", decimals=0, reads=DIFFERS
    )
    for name, part in parts.items():
        if name in switch:
            flags[part, LIBRARY] = 1 - equal(switch[name].number, like.words[name][LIBRARY])
        else:
            flags[part, LIBRARY] = 1 - equal(used[name], like.rows[name][LIBRARY])
    count = block(
        "library.differences", (LIBRARY,), "differ_sum", "conventions that differ from those in use", decimals=0
    )
    count[LIBRARY] = Sum(convention, flags[convention, LIBRARY])
    return flags, count


def _results(out: Loss, metrics: Sections) -> tuple[Item, ...]:
    """Repeats the numbers of every library, with links to their rows."""
    means, logged = out.total.means, by_name(metrics, "library.")
    key_rows = (means["policy_loss"], means["value_loss"], out.total.total)
    others = (
        out.coefficients[0], means["kl_loss"], means["entropy"], *(logged[name] for name in SHOWN),
    )  # fmt: skip
    named = {row: transposed(f"which.{row.name.removeprefix('library.')}", row) for row in (*key_rows, *others)}
    return (*(key(named[row]) for row in key_rows), *(named[row] for row in others))
