"""Write numbers files, and describe them as JSON Schema (draft 2020-12), for editors that complete and check them.

Both are made from the same levels that check a file when it is loaded. What a schema cannot say, such as that shapes belong
together, is checked there alone; what a file may hold, the schema never refuses. A written file has every key that there is at
its level, what it is, and what may stand there.
"""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from blueprint.inputs.catalogue import OFF, Setting
from blueprint.inputs.entries import named_one_by_one
from blueprint.inputs.level import Numbers
from blueprint.inputs.load import assumed, given, level_named
from blueprint.inputs.toml_file import spelled
from blueprint.workbooks.registry import kinds, level_of

Node = dict[str, Any]


def schema_of() -> Node:
    """Return the schema of all levels.

    `if` and `then` give an editor one precise complaint; `anyOf` refuses nothing (its last member is `true`), but is
    where Taplo 0.9 looks for what may be written (`collect_schemas` in taplo-common/src/schema/mod.rs, which goes
    through oneOf, anyOf and allOf, and not through `then`).
    """
    levels = {word: level_schema(word) for kind in kinds() for word in kind.levels}
    there = {name: {"$ref": f"#/$defs/{name}"} for name in levels}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
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
    for key in (level.accepts or {}).keys() - level.settings.keys():  # read only to be refused in words of its own
        table, _, name = level.dotted(key).partition(".")
        del keys[table]["properties"][name]
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
    symbol = "" if setting.words else f"{setting.symbol}: "
    node: Node = {"description": f"{symbol}{setting.meaning}"} if setting.meaning else {}
    if setting.words or named_one_by_one(setting):
        allowed = list(setting.words or range(int(setting.low), int(setting.high) + 1))
        return node | {"enum": allowed, "default": setting.value}
    if setting.whole:
        low, high = int(setting.low), int(setting.high)
        return node | {"type": "integer", "minimum": low, "maximum": high, "default": setting.value}
    number: Node = {"type": "number", "minimum": setting.low, "maximum": setting.largest}
    values = {"anyOf": [number, {"const": "off"}]} if setting.limit else number
    return node | values | {"default": "off" if setting.value == OFF else setting.value}


_COMMENT_AT, _LONGEST = 32, 120
_HEAD = """\
# All numbers of a workbook, which `blueprint build --numbers` with the name of this file makes.
# Behind a # stands what is left out: what the preset does for a setting, an example of anything else.
"""


SCHEMA_FILE = "blueprint-numbers.schema.json"
"""The name under which the schema lies beside a numbers file."""


def toml_of(numbers: Numbers, schema: str = f"./{SCHEMA_FILE}") -> str:
    """Write numbers of any level as a complete numbers file, each key with a comment; `load` gives the same numbers back.

    schema: where an editor finds the JSON Schema, seen from the folder of the file: the first line holds Taplo's directive
    (taplo.tamasfe.dev, Configuration, Directives; read in taplo 0.9).
    """
    keys: Node = level_schema(numbers.level)["properties"]
    page = _Page(numbers)
    lines = [f"#:schema {schema}", _HEAD]
    for name, node in keys.items():
        lines += page.table(name, node) if "properties" in node else page.key(name, node)
    return "\n".join(lines) + "\n"


class _Page:
    """The numbers, looked up key by key."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers, self._given, self._assumed = numbers, given(numbers), assumed(numbers)
        self._level = level_of(numbers)
        self._preset = f"preset {numbers.preset or 'default'}"

    def table(self, name: str, node: Node) -> Iterator[str]:
        """Yield the lines of a table; none for settings that are not in use, such as conventions that are not live."""
        keys: Node = node["properties"]
        dotted = [f"{name}.{key}" for key in keys]
        is_given = any(key in self._given for key in dotted)
        settings = all(key in self._level.by_dotted_key for key in dotted)
        if settings and not is_given and not any(key in self._assumed for key in dotted):
            return
        left_out = not is_given and "required" in node
        lines = [line for key, inner in keys.items() for line in self.key(f"{name}.{key}", inner)]
        if lines:
            yield ""
            yield _beside(
                f"{'# ' if left_out else ''}[{name}]", node["description"].replace("the preset", self._preset)
            )
            yield from lines

    def key(self, dotted: str, node: Node) -> Iterator[str]:
        """Yield the lines of a key: its value, or, behind a #, what holds without it; a long comment goes above it."""
        key, is_given = dotted.rpartition(".")[2], dotted in self._given
        value = self._given.get(dotted, self._assumed.get(dotted, node.get("examples", [None])[0]))
        if value is None:
            return
        remarks = self._level.remarks(self._numbers, dotted) if is_given else ()
        leaf = node
        while leaf.get("type") == "array":
            leaf = leaf["items"]
        whole = leaf.get("type") == "integer" or any(isinstance(each, int) for each in leaf.get("enum", ()))
        mark = "" if is_given else "# "
        first, *more = spelled("off" if "anyOf" in node and value == OFF else value, whole, remarks)
        comment = "; ".join(filter(None, (node.get("description"), _allowed(leaf))))
        line = f"{mark}{key} = {first}"
        if len(_beside(line, comment)) > _LONGEST:
            yield from wrap(comment, _LONGEST, initial_indent="# ", subsequent_indent="# ")
        else:
            line = _beside(line, comment)
        yield line
        yield from (mark + each for each in more)


def _beside(line: str, comment: str) -> str:
    return f"{line:<{_COMMENT_AT}}# {comment}" if len(line) < _COMMENT_AT else f"{line}  # {comment}"


def _allowed(node: Node) -> str:
    """Say what may stand for one value."""
    match node:
        case {"enum": [*others, last]}:
            return f"{', '.join(map(str, others))}{' or ' if others else ''}{last}"
        case {"anyOf": [{"minimum": low, "maximum": _}, {"const": "off"}]}:
            return f'{low:g} or more, or "off"'
        case {"type": "integer", "minimum": low, "maximum": high}:
            return f"a whole number from {low} to {high}"
        case {"minimum": low, "maximum": high}:
            return f"{low:.10g} to {high:.10g}"
        case {"minimum": low}:
            return f"{low:g} or more"
        case {"exclusiveMinimum": low}:
            return f"above {low:g}"
        case {"maximum": high}:
            return f"at most {high:g}"
        case {"maxLength": longest} if "minLength" not in node and "pattern" not in node:
            return f"at most {longest} characters"
        case _:
            return ""
