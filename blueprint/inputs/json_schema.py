"""Describe numbers files as JSON Schema (draft 2020-12), for editors that complete and check them.

Made from the same levels that check a file when it is loaded. What a schema cannot say, such as that shapes belong
together, is checked there alone; what a file may hold, the schema never refuses.
"""

from collections.abc import Mapping
from typing import Any

from blueprint.inputs.load import level_named
from blueprint.inputs.setting import OFF, Setting
from blueprint.workbooks.registry import kinds

Node = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema_of() -> Node:
    """Return the schema of all levels.

    `if` and `then` give an editor one precise complaint; `anyOf` refuses nothing (its last member is `true`), but is
    where Taplo 0.9 looks for what may be written (`collect_schemas` in taplo-common/src/schema/mod.rs, which goes
    through oneOf, anyOf and allOf, and not through `then`).
    """
    levels = {word: level_schema(word) for kind in kinds() for word in kind.levels}
    there = {name: {"$ref": f"#/$defs/{name}"} for name in levels}
    return {
        "$schema": DRAFT,
        "title": "Numbers of a blueprint workbook",
        "description": "A numbers file of `blueprint build --numbers`; its level decides which tables it has.",
        "type": "object",
        "required": ["level"],
        "properties": {"level": {"enum": list(levels), "description": "where the numbers begin"}},
        "allOf": [
            {"if": {"properties": {"level": {"const": name}}, "required": ["level"]}, "then": ref}
            for name, ref in there.items()
        ],
        "anyOf": [*there.values(), True],
        "$defs": levels,
    }


def level_schema(word: str) -> Node:
    """Return the schema of one level, every table written out in its place."""
    level = level_named(word)
    made = level.file.model_json_schema()
    whole: Node = _tidied(made, made.get("$defs", {}))
    whole["title"] = f'Numbers of level "{word}"'
    keys = whole["properties"]
    for key, setting in level.settings.items():
        table, _, name = level.dotted(key).partition(".")
        keys[table]["properties"][name] = _setting(setting)
    if level.presets:
        presets = {"enum": list(level.presets().presets)}
        keys["preset"] |= presets
        if "compare" in keys:
            keys["compare"]["anyOf"] = [{"type": "array", "items": presets}, {"type": "string"}]
    return whole


def _tidied(node: Any, defs: Mapping[str, Any]) -> Any:
    """Write references out, and leave away what no TOML file has: null, and the names of our classes."""
    if isinstance(node, list):
        return [_tidied(each, defs) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {name: each for name, each in node.items() if name != "$ref"}
        return _tidied(defs[node["$ref"].rpartition("/")[2]] | rest, defs)
    kept = {name: each for name, each in node.items() if name not in ("title", "$defs", "default")}
    if "properties" in kept:
        kept["properties"] = {name: _tidied(each, defs) for name, each in node["properties"].items()}
    if "anyOf" in kept:
        others = [each for each in kept.pop("anyOf") if each != {"type": "null"}]
        kept = _tidied(others[0], defs) | kept if len(others) == 1 else {"anyOf": others} | kept
    return {name: each if name == "properties" else _tidied(each, defs) for name, each in kept.items()}


def _setting(setting: Setting) -> Node:
    """Describe what may stand for a setting; a word's symbol says nothing that a file needs."""
    about = setting.meaning if setting.words else f"{setting.symbol}: {setting.meaning}"
    node: Node = {"description": about} if setting.meaning else {}
    if setting.words or setting.whole:
        allowed = setting.words or range(int(setting.low), int(setting.high) + 1)
        return node | {"enum": list(allowed), "default": setting.value}
    number: Node = {"type": "number", "minimum": setting.low, "maximum": setting.largest}
    values = {"anyOf": [number, {"const": "off"}]} if setting.limit else number
    return node | values | {"default": "off" if setting.value == OFF else setting.value}
