"""The command line `tacho`.

`main` parses the arguments into one command; the command computes an `Answer`; the `Screen` shows it as text, every
payload escaped, or as JSON. Each command group has a module of its own. Work of other floors is reached by service name.
"""

from tachograph.control._start import main

__all__ = ["main"]
