"""What ends a replay from inside."""


class Halt(BaseException):
    """The replay has ended; control logic cannot catch it with `except Exception`."""
