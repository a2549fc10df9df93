"""A bucket on a real server: names written once, ranges, listings, and refusals in words."""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from services import fresh_backend
from tachograph.core.errors import InvalidSetting, StoreUnavailable
from tachograph.stores.backend import S3Settings, Secret
from tachograph.stores.s3 import Bucket, Patience, S3Refused, S3Unreachable, name_part

QUICK = Patience(connect_seconds=1, answer_seconds=1, retries=1, pause_seconds=0)


@pytest.fixture
def settings(tmp_path: Path) -> S3Settings:
    """Of an empty bucket."""
    found = fresh_backend(tmp_path, "s3").s3
    assert found is not None
    return found


@pytest.fixture
def bucket(settings: S3Settings) -> Bucket:
    """An empty bucket."""
    return Bucket(settings)


def test_a_name_is_written_once(bucket: Bucket) -> None:
    """Whoever comes later is told, and changes nothing."""
    assert bucket.put_new("a/b", b"one")
    assert not bucket.put_new("a/b", b"two")
    assert bucket.get("a/b") == b"one"
    assert bucket.get("a/c") is None


def test_of_many_writers_at_once_one_wins(bucket: Bucket) -> None:
    """The bytes are those of the winner."""
    with ThreadPoolExecutor(16) as writers:
        won = list(writers.map(lambda number: bucket.put_new("name", str(number).encode()), range(48)))
    assert sum(won) == 1
    assert bucket.get("name") == str(won.index(True)).encode()


@pytest.mark.parametrize(
    ("start", "size", "wanted"),
    [
        (0, 2, b"01"),
        (3, 4, b"3456"),
        (8, 9, b"89"),
        (10, 1, b""),
        (99, 1, b""),
        (-3, 1, b"789"),
        (-99, 1, b"0123456789"),
    ],
)
def test_a_part_is_read(bucket: Bucket, start: int, size: int, wanted: bytes) -> None:
    """From the beginning or from the end; nothing where there is nothing."""
    bucket.put_new("digits", b"0123456789")
    assert bucket.get_range("digits", start, size) == wanted
    assert bucket.get_range("nothing", start, size) is None


def test_names_are_listed_in_order_behind_one(bucket: Bucket) -> None:
    """More than a server lists at once; only those of the folder."""
    names = [f"many/{number:05d}" for number in range(1100)]
    with ThreadPoolExecutor(8) as writers:
        list(writers.map(lambda name: bucket.put_new(name, b""), [*names, "other/1", "many.more/1"]))
    assert list(bucket.names("many/")) == names
    assert list(bucket.names("many/", after=names[1098])) == names[1099:]
    assert sorted(bucket.folders("")) == ["many.more/", "many/", "other/"]
    assert list(bucket.folders("many/")) == []


def test_what_is_removed_is_gone(bucket: Bucket) -> None:
    """Removing it twice is as removing it once."""
    bucket.put_new("a", b"a")
    bucket.remove("a")
    bucket.remove("a")
    assert bucket.get("a") is None


def test_a_missing_bucket_is_made(settings: S3Settings) -> None:
    """By whoever comes first."""
    fresh = dataclasses.replace(settings, bucket=f"{settings.bucket}-new")
    with ThreadPoolExecutor(4) as many:
        list(many.map(lambda _: Bucket(fresh).ensure(), range(4)))
    assert Bucket(fresh).put_new("a", b"a")


def test_a_missing_bucket_is_named(settings: S3Settings) -> None:
    """And its setting."""
    lost = Bucket(dataclasses.replace(settings, bucket="not-there"))
    with pytest.raises(S3Refused, match=r"not-there.*no such bucket.*TACHO_S3_BUCKET"):
        lost.get("a")


@pytest.mark.parametrize(
    "change", [{"access_key": "nobody"}, {"secret_key": Secret("the-wrong-secret")}], ids=["key", "secret"]
)
def test_a_refusal_names_the_endpoint_and_no_secret(settings: S3Settings, change: dict[str, object]) -> None:
    """Nor does anything that the error carries."""
    bucket = Bucket(dataclasses.replace(settings, **change))  # type: ignore[arg-type]
    for call in (lambda: bucket.put_new("a", b"a"), lambda: bucket.get("a"), lambda: list(bucket.names(""))):
        with pytest.raises(S3Refused, match="access is denied.*TACHO_S3_ACCESS_KEY") as caught:
            call()
        assert bucket.endpoint in str(caught.value)
        told = f"{caught.value!s}{caught.value!r}{caught.value.__cause__!s}{caught.value.__cause__!r}"
        assert "the-wrong-secret" not in told
        assert settings.secret_key.text not in told


def test_a_server_that_is_not_there_is_named(settings: S3Settings) -> None:
    """Soon, and with the reason."""
    gone = Bucket(dataclasses.replace(settings, url="http://127.0.0.1:1"), patience=QUICK)
    with pytest.raises(S3Unreachable, match=r"http://127\.0\.0\.1:1/.*Connection refused"):
        gone.get("a")


def test_a_forked_child_connects_anew(bucket: Bucket) -> None:
    """Two processes on one socket would read each other's answers."""
    bucket.put_new("a", b"a")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, bucket.get("a") or b"none")
        os._exit(0)
    assert bucket.get("a") == b"a"
    os.waitpid(child, 0)
    assert os.read(read, 9) == b"a"
    os.close(read)
    os.close(write)


def test_what_belongs_to_nobody_has_no_name() -> None:
    """An empty id would make two tenants' names one."""
    with pytest.raises(InvalidSetting, match="must not be empty"):
        name_part("")
    assert issubclass(S3Refused, StoreUnavailable)
    assert name_part("a/b..c") == "a%2Fb..c"
