"""Where documented modules have gone: an import of an old path ends in a sentence that names the new one."""

from collections.abc import Sequence
from types import ModuleType

MOVED = {
    "blueprint.workbooks.minibatch": "blueprint.workbooks.rlhf_ppo.minibatch",
    "blueprint.classes.typed": "blueprint.classes.key",
    "blueprint.workbooks.common.settings": "blueprint.workbooks.common.definitions.settings_presets_and_ranges",
    "blueprint.workbooks.common.definitions.settings_and_presets": (
        "blueprint.workbooks.common.definitions.settings_presets_and_ranges"
    ),
}
"""By a path that a page or a notebook has named, where its names stand now."""


class Moved:
    """A finder in `sys.meta_path` that answers for modules that are no longer there.

    `importlib.abc`, whose MetaPathFinder it could inherit from, takes a tenth of the time of `import blueprint`.
    """

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Refuses an old path in a sentence; of any other module it knows nothing.

        Raises:
            ModuleNotFoundError: with the import to use instead.
        """
        if name in MOVED:
            raise ModuleNotFoundError(f"{name} is now {MOVED[name]}: write `from {MOVED[name]} import …`", name=name)
