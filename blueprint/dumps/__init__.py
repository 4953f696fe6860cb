"""A dump of a training step, whichever library wrote it and in whichever format, under neutral names."""

from blueprint.dumps.as_written import as_computed, decimals_of_all, written_with
from blueprint.dumps.batch import (
    COUNTED_IN,
    ENGINE,
    OLDER,
    PLACE_KEYS,
    SAYS_NOTHING,
    Dump,
    Minibatch,
    Moments,
    Place,
    Share,
    forward_option,
    number_said,
    run_fields,
    share_of,
    whole_number,
)
from blueprint.dumps.both_sides import (
    SIDES,
    check_axes,
    check_even,
    halves,
    one_each,
    true_or_false,
    whole_numbers,
)
from blueprint.dumps.checks import rounding
from blueprint.dumps.formats import (
    SCHEMA,
    Array,
    MinibatchError,
    Raw,
    head_of,
    is_bundle,
    metadata_of,
    open_raw,
    require,
    said_shape,
    save,
)
from blueprint.dumps.in_folder import ends_as_dump, files_in, natural
from blueprint.dumps.metadata import mentioned
from blueprint.dumps.own_kind import Understood, preset_of_library, preset_said, understood
from blueprint.dumps.read import (
    DumpKind,
    Inspection,
    Needs,
    catalogue_of,
    dump_kinds,
    inspect,
    is_foreign,
    minibatch_from,
    minibatch_of,
    naming,
    not_read,
    not_understood,
    read_dump,
    read_minibatch,
)
from blueprint.dumps.recognise import (
    METADATA,
    TENSOR,
    UNUSED,
    Names,
    Recognised,
    algorithm_said,
    names_in_metadata,
    pairs_in,
    recognise,
    single_responses,
)
from blueprint.dumps.recognise import NAMES as PPO_NAMES
from blueprint.dumps.shaping import Given
from blueprint.dumps.step_files import (
    first_pass,
    in_order,
    joined,
    joined_pass,
    key_of,
    missing_in,
    of_one_pass,
    rows_twice,
    together,
    unsaid,
    whole_of,
)

__all__ = [
    "COUNTED_IN", "ENGINE", "METADATA", "OLDER", "PLACE_KEYS", "PPO_NAMES", "SAYS_NOTHING", "SCHEMA", "SIDES", "TENSOR",
    "UNUSED", "Array", "Dump", "DumpKind", "Given", "Inspection", "Minibatch", "MinibatchError", "Moments", "Names", "Needs",
    "Place", "Raw", "Recognised", "Share", "Understood", "algorithm_said", "as_computed", "catalogue_of", "check_axes",
    "check_even", "decimals_of_all", "dump_kinds", "ends_as_dump", "files_in", "first_pass", "forward_option", "halves",
    "head_of", "in_order", "inspect", "is_bundle", "is_foreign", "joined", "joined_pass", "key_of", "mentioned",
    "metadata_of", "minibatch_from", "minibatch_of", "missing_in", "names_in_metadata", "naming", "natural", "not_read",
    "not_understood", "number_said", "of_one_pass", "one_each", "open_raw", "pairs_in", "preset_of_library", "preset_said",
    "read_dump", "read_minibatch", "recognise", "require", "rounding", "rows_twice", "run_fields", "said_shape", "save",
    "share_of", "single_responses", "together", "true_or_false", "understood", "unsaid", "whole_number", "whole_numbers",
    "whole_of", "written_with",
]  # fmt: skip
