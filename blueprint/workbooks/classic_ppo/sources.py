"""Where each piece of classic PPO comes from, as `sources.toml` has it."""

from pathlib import Path

from blueprint.workbooks.common.sources import source_of


def __getattr__(name: str) -> str:
    """Returns a source: `sources.GAE` is the text under GAE."""
    return source_of(name, Path(__file__).parent)
