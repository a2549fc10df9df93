"""How Faust is let into a cluster: librdkafka's properties in its own form."""

from __future__ import annotations

import ssl

from tachograph.core.errors import InvalidSetting
from tachograph.stores.backend import KafkaSettings, Secret


def credentials_of(settings: KafkaSettings) -> object:
    """Of a cluster; None where it lets everybody in.

    Raises:
        InvalidSetting: Faust cannot do what they ask for.
    """
    protocol = _property(settings, "security.protocol", "plaintext").lower()
    if protocol == "plaintext":
        return None
    from faust.auth import SASLCredentials, SSLCredentials
    from faust.types.auth import AuthProtocol, SASLMechanism

    context = _ssl_context(settings) if protocol.endswith("ssl") else None
    if protocol == "ssl":
        return SSLCredentials(context)
    mechanism = _property(settings, "sasl.mechanism", _property(settings, "sasl.mechanisms", "PLAIN"))
    if mechanism not in {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}:
        raise InvalidSetting("sasl.mechanism", mechanism, "insights can use PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512")
    credentials = SASLCredentials(
        username=_property(settings, "sasl.username", ""),
        password=_property(settings, "sasl.password", ""),
        ssl_context=context,
        mechanism=SASLMechanism(mechanism),
    )
    credentials.protocol = AuthProtocol(protocol.upper())
    return credentials


def _ssl_context(settings: KafkaSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=_property(settings, "ssl.ca.location", "") or None)
    certificate = _property(settings, "ssl.certificate.location", "")
    if certificate:
        password = _property(settings, "ssl.key.password", "") or None
        context.load_cert_chain(certificate, _property(settings, "ssl.key.location", "") or None, password)
    return context


def _property(settings: KafkaSettings, name: str, default: str) -> str:
    value = settings.properties.get(name, default)
    return value.text if isinstance(value, Secret) else value
