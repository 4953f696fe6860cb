"""Where rooms have gone: an import of an old path ends in a sentence that names the new one."""

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

MOVED = {
    "blueprint.numbers": "blueprint.inputs",
    "blueprint.ppo": "blueprint.workbooks",
    "blueprint.saved": "blueprint.reopening",
    "blueprint.minibatch": "blueprint.dumps",
    "blueprint.replay": "blueprint.verifying",
    "blueprint.runs": "blueprint.verifying.runs",
    "blueprint.explain": "blueprint.explaining",
    "blueprint.commands.import_minibatch": "blueprint.commands.verify",
    "blueprint.commands.check": "blueprint.commands.workbooks",
    "blueprint.commands.rebuild": "blueprint.commands.workbooks",
    "blueprint.commands.which": "blueprint.commands.presets",
    "blueprint.commands.refusals": "blueprint.commands.door",
    "blueprint.commands.telling": "blueprint.commands.console",
    "blueprint.which.words": "blueprint.which.page",
    "blueprint.language.refuse": "blueprint.language.trees",
    "blueprint.language.chain": "blueprint.language",
    "blueprint.language.ending": "blueprint.language.evaluate",
    "blueprint.language.errors": "blueprint.language",
    "blueprint.language.spelling.rules": "blueprint.language.spelling.text",
    "blueprint.checking.coverage": "blueprint.checking.checker",
    "blueprint.checking.report": "blueprint.checking",
    "blueprint.checking.roots": "blueprint.checking.causes",
    "blueprint.differing.report": "blueprint.differing",
    "blueprint.page.putting": "blueprint.page.steps",
    "blueprint.page.saving": "blueprint.files",
    "blueprint.unfinished": "blueprint.files",
}
INSTEAD = {
    "blueprint.ppo": "`from blueprint.workbooks import blueprint_of`, which makes what rlhf_ppo made, or bp.build",
}
"""What to write where not the room alone has another name."""


class Moved(MetaPathFinder):
    """Answers for rooms that are no longer there."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Refuses an old path in a sentence; of any other module it knows nothing.

        Raises:
            ModuleNotFoundError: with the import to use instead.
        """
        if name in MOVED:
            write = INSTEAD.get(name, f"`from {MOVED[name]} import …`")
            raise ModuleNotFoundError(f"{name} is now {MOVED[name]}: write {write}", name=name)
