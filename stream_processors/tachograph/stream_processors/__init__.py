"""Stream processors: nothing here yet. Recording, replay and verification work without a stream."""

__all__: list[str] = []
