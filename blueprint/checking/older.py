"""Files of older versions: their blocks by the names that they have by now."""

from collections.abc import Mapping
from dataclasses import replace

from blueprint.page.found import Found
from blueprint.page.names import defined_name
from blueprint.workbooks.kind import Former


def by_todays_names(places: Mapping[str, Found], former: Former) -> dict[str, Found]:
    """Returns the blocks of a file, which an older version may have written, by the names that they have by now."""

    def today(name: str) -> str:
        return former.renamed.get(name, name)

    def reads(found: Found) -> tuple[str, ...]:
        through = (places[name].reads if name in former.gone and name in places else (name,) for name in found.reads)
        return tuple(today(name) for names in through for name in names)

    def called(found: Found) -> str:
        return defined_name(today(found.name)) if found.called == defined_name(found.name) else found.called

    kept = (found for name, found in places.items() if name not in former.gone)
    named = (replace(found, name=today(found.name), called=called(found), reads=reads(found)) for found in kept)
    return {found.name: found for found in named}
