"""The record of the adaptive KL controller."""

from blueprint.workbooks.kind import kind_in

KIND = kind_in(
    __file__,
    "the adaptive KL controller",
    levels={"controller": "build:LEVEL"},
    build="build:kl_controller",
    settings="build:CONTROLLER",
    saved={"controller": "responses.kl"},
    misconceptions="build:MISCONCEPTIONS",
)
