"""What ends a replay from inside."""


class Halt(BaseException):
    """The replay has ended; control logic cannot catch it with `except Exception`."""

    def __str__(self) -> str:
        return "the replay has ended here"
