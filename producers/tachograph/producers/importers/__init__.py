"""Runs from elsewhere, as recorded runs with an honest grade: what the source does not carry is listed.

A row is checked, then walked by an entry point that a replay can drive again: `airline` re-drives a conversation with
the harness loop, `who_and_when` walks a history. The services are `import.airline` and `import.who-and-when`.
"""

from tachograph.producers.importers._airline import import_airline
from tachograph.producers.importers._airline_run import airline
from tachograph.producers.importers._rows import UnusableRow
from tachograph.producers.importers._who_and_when import import_who_and_when
from tachograph.producers.importers._who_run import who_and_when

__all__ = ["UnusableRow", "airline", "import_airline", "import_who_and_when", "who_and_when"]
