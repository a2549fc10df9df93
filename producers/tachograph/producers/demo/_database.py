"""The desk's SQLite database and the tools on it."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tachograph.core.boundary import Receipted, tool
from tachograph.producers.demo._seeded import seeded_choice, seeded_number

Row = dict[str, object]

FIRST_TICKET = 1042
CUSTOMER = "customer-17"
RULES_VERSION = "2026-03"

_SCHEMA = """
CREATE TABLE tickets (id TEXT PRIMARY KEY, customer TEXT, item TEXT, paid REAL, currency TEXT, text TEXT);
CREATE TABLE refunds (id INTEGER PRIMARY KEY, ticket TEXT UNIQUE, customer TEXT, amount_eur REAL);
CREATE TABLE rules (document_id TEXT, document_version TEXT, chunk_id TEXT, text TEXT);
CREATE TABLE audit (ticket TEXT PRIMARY KEY, text TEXT);
INSERT INTO rules VALUES
  ('refunds', '2026-03', 'damaged', 'An item that arrives damaged is refunded in full within 30 days.'),
  ('refunds', '2026-03', 'late', 'A late delivery is refunded by 10 percent of the price.'),
  ('refunds', '2026-03', 'mail', 'The customer gets one mail that confirms the refund.');
"""
_ITEMS = ("teapot", "desk lamp", "globe", "mirror")


def create_database(path: Path, seed: int, ticket: str) -> None:
    """A database with one open ticket."""
    item = seeded_choice(seed, "item", _ITEMS)
    paid = 20 + seeded_number(seed, "paid", 60) + 0.5
    text = f"The {item} arrived damaged, please refund it."
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_SCHEMA)
        database.execute("INSERT INTO tickets VALUES (?, ?, ?, ?, 'USD', ?)", (ticket, CUSTOMER, item, paid, text))
        database.commit()


def _ticket_of(_database: str, ticket: str, *_: object) -> str:
    return ticket


@tool(effect="read")
async def read_ticket(database: str, ticket: str) -> Row:
    """A ticket."""
    rows = await _in_thread(database, "SELECT * FROM tickets WHERE id = ?", ticket)
    return rows[0]


@tool(effect="read")
async def refunds_of(database: str, customer: str) -> list[Row]:
    """Earlier refunds of a customer."""
    return await _in_thread(database, "SELECT * FROM refunds WHERE customer = ?", customer)


@tool(effect="read")
async def find_rules(database: str, word: str) -> list[Row]:
    """The rules that a word is in, with what evidence needs: document, version, chunk, its hash, score."""
    rows = await _in_thread(database, "SELECT * FROM rules WHERE text LIKE '%' || ? || '%'", word)
    return [{**row, **_evidence(str(row["text"]), word)} for row in rows]


@tool(effect="write", idempotency_key=_ticket_of)
async def book_refund(database: str, ticket: str, customer: str, amount_eur: float) -> Receipted:
    """Book a refund; the receipt is its number in the books."""
    number = await asyncio.to_thread(
        _write, database, "INSERT INTO refunds (ticket, customer, amount_eur) VALUES (?, ?, ?)",
        (ticket, customer, amount_eur),
    )  # fmt: skip
    return Receipted(number, {"refund": number})


@tool(effect="write", idempotency_key=_ticket_of)
async def file_audit(database: str, ticket: str, text: str) -> Receipted:
    """File what happened to a ticket."""
    number = await asyncio.to_thread(_write, database, "INSERT INTO audit VALUES (?, ?)", (ticket, text))
    return Receipted(ticket, {"audit_row": number})


def _evidence(text: str, word: str) -> Row:
    return {"chunk_hash": hashlib.sha256(text.encode()).hexdigest(), "score": len(word) / len(text)}


async def _in_thread(database: str, query: str, *values: str) -> list[Row]:
    return await asyncio.to_thread(_read, database, query, values)


def _read(database: str, query: str, values: Sequence[object]) -> list[Row]:
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query, values)]


def _write(database: str, query: str, values: Sequence[object]) -> int | None:
    with closing(sqlite3.connect(database)) as connection:
        number = connection.execute(query, values).lastrowid
        connection.commit()
        return number
