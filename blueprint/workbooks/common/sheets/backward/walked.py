"""Walk goes on downhill: from a token's share of the loss back to what its logits and its value feel; or from that of a pair."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from blueprint.language import Block
from blueprint.language.gradient import Gradient
from blueprint.page.outline import Blueprint, Listed, Note, Section, Sheet, Step
from blueprint.workbooks.common.sheets.backward.sections import PULLS, reads

WALK, WRITTEN = "Walk", "rollout.written"
LOGITS = ("policy.tempered", "policy.logits")
POLICY, VALUE = "Downhill: from the share back to the log-prob", "Downhill to the value"
OTHERS = "Downhill: from the loss back"
"""Where what is picked is no token, such as a pair."""
UNPRINTED = Note("On paper the walk ends with the loss, so that it is one page; the way back is read on the screen.")
SOFTMAX = "Downhill through the soft-max: what the logits feel"


def with_walk(blueprint: Blueprint, made: Gradient) -> Blueprint:
    """Adds the way back to the sheet that derives one token."""
    rows = {block.name: block for block in blueprint.blocks()}
    sheets = (_extended(sheet, blueprint, made, rows) if sheet.title == WALK else sheet for sheet in blueprint.sheets)
    return replace(blueprint, sheets=tuple(sheets))


def _extended(sheet: Sheet, blueprint: Blueprint, made: Gradient, rows: Mapping[str, Block]) -> Sheet:
    *sections, last = sheet.sections
    shown = {item.block for item in sheet.items() if isinstance(item, Step)}
    first, *others = _sections(blueprint, made, rows, shown)
    back = replace(first, items=(UNPRINTED, *first.items)), *others
    return replace(sheet, sections=(*sections, *(replace(each, printed=False) for each in back), last))


def _sections(
    blueprint: Blueprint, made: Gradient, rows: Mapping[str, Block], shown: Collection[Block]
) -> Iterator[Section]:
    """Outlines the way back of the chosen token, as far as it has rows of its own; of what is no token, that of the rows shown."""
    across = blueprint.chosen.across if blueprint.chosen else ()
    own = [block for block in made.blocks if block.axes == across]
    known = (made[rows[name]] for name in LOGITS if name in rows and rows[name] in made.found)
    logits = next((each for each in known if each.axes[: len(across)] == across), None)
    of_logits = [each for each in own if logits is not None and each in reads(logits) and made.home[each].name != PULLS]
    of_policy = _behind(made[rows[PULLS]], {*made.blocks}) if PULLS in rows else set()
    if PULLS in rows and rows[PULLS].axes != across:
        yield Section(OTHERS, tuple(Step(each) for each in own if made.home[each] in shown))
        return
    yield Section(POLICY, tuple(Step(each) for each in own if each in of_policy))
    if logits is not None and WRITTEN in rows and {*rows[WRITTEN].axes} <= {*across}:
        chosen = Step(logits, member=rows[WRITTEN]), Step(logits, member=0)
        yield Section(SOFTMAX, (*map(Step, of_logits), *chosen, Listed(logits)))
    of_value = [each for each in own if each not in {*of_policy, *of_logits}]
    if of_value:
        yield Section(VALUE, tuple(map(Step, of_value)))


def _behind(block: Block, among: set[Block]) -> set[Block]:
    """Returns a block, and those among others from which it follows."""
    return {block}.union(*(_behind(each, among) for each in reads(block) & among))
