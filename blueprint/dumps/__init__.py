"""A dump of a training step, whichever library wrote it and in whichever format, under neutral names."""

from blueprint.dumps.batch import Dump, Minibatch, Moments
from blueprint.dumps.formats import SCHEMA, Array, MinibatchError, Raw, head_of, metadata_of, open_raw, require, save
from blueprint.dumps.given import Given, rounding
from blueprint.dumps.inspecting import Inspection, inspect
from blueprint.dumps.mentioned import mentioned
from blueprint.dumps.metadata import (
    COUNTED_IN,
    ENGINE,
    PLACE_KEYS,
    Place,
    Share,
    forward_option,
    number_said,
    run_fields,
    whole_number,
)
from blueprint.dumps.names import NAMES as PPO_NAMES
from blueprint.dumps.names import TENSOR, UNUSED, Names
from blueprint.dumps.read import (
    DumpKind,
    Needs,
    catalogue_of,
    dump_kinds,
    is_foreign,
    minibatch_from,
    minibatch_of,
    naming,
    not_understood,
    read_dump,
    read_minibatch,
)
from blueprint.dumps.recognise import METADATA, Recognised, names_in_metadata, recognise
from blueprint.dumps.sides import SIDES, check_axes, check_even, halves, pairs_in, true_or_false
from blueprint.dumps.step_files import in_order, joined, key_of, missing_in, rows_twice, unsaid
from blueprint.dumps.together import together, whole_of

__all__ = [
    "COUNTED_IN",
    "ENGINE",
    "METADATA",
    "PLACE_KEYS",
    "PPO_NAMES",
    "SCHEMA",
    "SIDES",
    "TENSOR",
    "UNUSED",
    "Array",
    "Dump",
    "DumpKind",
    "Given",
    "Inspection",
    "Minibatch",
    "MinibatchError",
    "Moments",
    "Names",
    "Needs",
    "Place",
    "Raw",
    "Recognised",
    "Share",
    "catalogue_of",
    "check_axes",
    "check_even",
    "dump_kinds",
    "forward_option",
    "halves",
    "head_of",
    "in_order",
    "inspect",
    "is_foreign",
    "joined",
    "key_of",
    "mentioned",
    "metadata_of",
    "minibatch_from",
    "minibatch_of",
    "missing_in",
    "names_in_metadata",
    "naming",
    "not_understood",
    "number_said",
    "open_raw",
    "pairs_in",
    "read_dump",
    "read_minibatch",
    "recognise",
    "require",
    "rounding",
    "rows_twice",
    "run_fields",
    "save",
    "together",
    "true_or_false",
    "unsaid",
    "whole_number",
    "whole_of",
]
