"""Real servers on a development machine: Kafka, a schema registry, S3 and Redis on free ports of 127.0.0.1."""

__all__: list[str] = []
