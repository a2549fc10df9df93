"""The demo fleet: a refund desk of four agents in two processes, on real parts.

Read `_desk` (triage and billing) and `_back_office` (mailer and auditor) first: they are the control logic. `_database`,
`_service`, `_mail` and `_mail_server` are the outside, `_office` starts and stops it, `_demo` records a run.
"""

from tachograph.producers.demo._back_office import auditor, careful_mailer, mailer
from tachograph.producers.demo._demo import record_demo, record_fleet
from tachograph.producers.demo._desk import refund_desk
from tachograph.producers.demo._office import Office

__all__ = ["Office", "auditor", "careful_mailer", "mailer", "record_demo", "record_fleet", "refund_desk"]
