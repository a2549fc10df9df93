"""Confluent's client of a schema registry, and its errors in our words; the one place that knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote, urlsplit

from tachograph.core.errors import InvalidSetting
from tachograph.stores.backend import RegistrySettings
from tachograph.stores.registry._errors import IncompatibleSchema, RegistryUnavailable

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import SchemaRegistryClient

T = TypeVar("T")

SECONDS_MAX: Final = 5.0
"""How long a registry may take to answer; nobody waits for one that does not, since ids are kept."""

_NOT_FOUND: Final = 404
_CONFLICTS: Final = (409, 422)


class ConfluentRegistry:
    """A registry that speaks Confluent's API.

    Args:
        settings: where it is.

    Raises:
        InvalidSetting: the client is not installed, or the URL cannot be.
    """

    def __init__(self, settings: RegistrySettings) -> None:
        self.url = _shown(settings.url)
        self._client = _client(settings.url)

    def register(self, subject: str, name: str, text: str) -> int:
        """The id of a schema; where the registry has it already, the one it has.

        Args:
            subject: to register it under.
            name: what to call it in an error.
            text: the schema as JSON.

        Raises:
            IncompatibleSchema: the registry refuses it.
            RegistryUnavailable: the registry does not answer.
        """
        from confluent_kafka.schema_registry import Schema, SchemaRegistryError

        def ask() -> int:
            try:
                return self._client.register_schema(subject, Schema(text, "AVRO"))
            except SchemaRegistryError as error:
                if error.http_status_code in _CONFLICTS:
                    raise IncompatibleSchema(subject, name, str(error)) from error
                raise

        return self._asked(ask)

    def hold_compatible(self, subject: str) -> None:
        """Have the registry refuse, under this subject, what is not FULL_TRANSITIVE.

        Raises:
            RegistryUnavailable: the registry does not answer.
        """
        from confluent_kafka.schema_registry import ConfigCompatibilityLevel, SchemaRegistryError, ServerConfig

        # A plain string in place of the enum's member raises AttributeError in the client.
        wanted = ServerConfig(compatibility=ConfigCompatibilityLevel.FULL_TRANSITIVE)

        def ask() -> None:
            try:
                self._client.set_config(subject, wanted)
            except SchemaRegistryError as error:
                if error.http_status_code not in _CONFLICTS:
                    raise
                self._client.set_config(subject, wanted)  # another process made the rule in this moment

        self._asked(ask)

    def schema(self, schema_id: int) -> str | None:
        """The schema with an id, as JSON; None where there is none.

        Raises:
            RegistryUnavailable: the registry does not answer.
        """
        from confluent_kafka.schema_registry import SchemaRegistryError

        def ask() -> str | None:
            try:
                return self._client.get_schema(schema_id).schema_str
            except SchemaRegistryError as error:
                if error.http_status_code == _NOT_FOUND:
                    return None
                raise

        return self._asked(ask)

    def close(self) -> None:
        """Let go of its connections."""
        self._client.close()

    def _asked(self, ask: Callable[[], T]) -> T:
        from confluent_kafka.schema_registry import SchemaRegistryError
        from confluent_kafka.schema_registry.common._httpx_compat import httpx

        try:
            return ask()
        except httpx.HTTPError as error:
            raise RegistryUnavailable(self.url, f"{type(error).__name__}: {error}") from error
        except SchemaRegistryError as error:
            raise RegistryUnavailable(self.url, str(error)) from error
        except (ValueError, TypeError) as error:
            raise RegistryUnavailable(self.url, f"its answer is none of a schema registry: {error}") from error


def _client(url: str) -> SchemaRegistryClient:
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient
    except ImportError as error:
        needed = "reaching it needs the registry's client; install it with `pip install 'tachograph[cluster]'`"
        raise InvalidSetting("TACHO_REGISTRY_URL", _shown(url), needed) from error
    # Apart from the URL, which the HTTP client logs as it is.
    parts = urlsplit(url)
    login = (
        {}
        if parts.username is None
        else {"basic.auth.user.info": f"{unquote(parts.username)}:{unquote(parts.password or '')}"}
    )
    try:
        return SchemaRegistryClient({"url": _shown(url), "timeout": SECONDS_MAX, "max.retries": 0, **login})
    except ValueError as error:
        raise InvalidSetting("TACHO_REGISTRY_URL", _shown(url), str(error)) from None


def _shown(url: str) -> str:
    """The URL without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
