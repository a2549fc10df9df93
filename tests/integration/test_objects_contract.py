"""What every object store promises, whether it is a directory, a bucket, or a bucket behind a directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from services import fresh_backend
from tachograph.core.canonical import Digester, encode_body, make_body, read_body
from tachograph.core.errors import MissingBody, StoreUnavailable
from tachograph.core.ports import ObjectStore
from tachograph.stores import DirectoryObjects
from tachograph.stores.s3 import Bucket, CachedObjects, S3Objects

KEYS = [bytes([number]) * 32 for number in range(8)]
DIGESTER = Digester(bytes(32))


def _bucket(path: Path) -> Bucket:
    settings = fresh_backend(path, "s3").s3
    assert settings is not None
    return Bucket(settings)


def _directory(path: Path) -> ObjectStore:
    (path / "objects").mkdir(exist_ok=True)
    return DirectoryObjects(path / "objects")


def _s3(path: Path) -> ObjectStore:
    return S3Objects(_bucket(path), "acme/one")


def _cached(path: Path) -> ObjectStore:
    return CachedObjects(cast("DirectoryObjects", _directory(path)), _s3(path))


@pytest.fixture(params=[_directory, _s3, _cached], ids=["directory", "s3", "cached"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """An empty store."""
    return cast("Callable[[Path], ObjectStore]", request.param)(tmp_path)


@pytest.mark.parametrize("data", [b"", b"body", b"text " * 9000, bytes(range(256)) * 300], ids=len)
def test_what_is_put_is_got(objects: ObjectStore, data: bytes) -> None:
    """Byte for byte, whether it deflates or not; what was not put is not there."""
    objects.put(KEYS[1], data)
    assert objects.get(KEYS[1]) == data
    assert objects.get(KEYS[2]) is None


def test_keys_are_listed_sorted(objects: ObjectStore) -> None:
    """Each once."""
    for key in reversed(KEYS):
        objects.put(key, key)
        objects.put(key, key)
    assert list(objects.keys()) == KEYS


@pytest.mark.parametrize("key", [b"", b"short", bytes(33), b"../../../etc/passwd"])
def test_a_key_that_is_none_is_refused(objects: ObjectStore, key: bytes) -> None:
    """Before a name is made of it."""
    with pytest.raises(StoreUnavailable, match="a key has 32 bytes"):
        objects.put(key, b"body")
    with pytest.raises(StoreUnavailable, match="a key has 32 bytes"):
        objects.get(key)


def test_a_body_comes_back(objects: ObjectStore) -> None:
    """Chunks, groups of chunks and all; one that is lost is named."""
    data = encode_body(["word " * 40_000, *range(9000)])
    body, chunks = make_body(data, redacted=False, digester=DIGESTER)
    for key, chunk in chunks[1:]:
        objects.put(key, chunk)
    with pytest.raises(MissingBody, match="run/a#1\\.1"):
        read_body(body, objects, DIGESTER, "run/a#1.1")
    objects.put(*chunks[0])
    assert read_body(body, objects, DIGESTER, "run/a#1.1") == data


def test_tenants_do_not_see_each_other(tmp_path: Path) -> None:
    """Neither objects nor keys, whatever their names are made of."""
    bucket = _bucket(tmp_path)
    tenants = ["a", "a/objects", "..", ".", "a%2Fobjects", "ä ö", "a+b", "a?b#c", "a b"]
    stores = [S3Objects(bucket, tenant) for tenant in tenants]
    for tenant, store in zip(tenants, stores, strict=True):
        store.put(KEYS[0], tenant.encode())
        store.put(DIGESTER.digest(tenant.encode()), b"own")
    for tenant, store in zip(tenants, stores, strict=True):
        assert store.get(KEYS[0]) == tenant.encode()
        assert sorted(store.keys()) == sorted([KEYS[0], DIGESTER.digest(tenant.encode())])


def test_damaged_bytes_under_a_key_are_mended(tmp_path: Path) -> None:
    """By whoever has the right ones: there are no others under that key."""
    bucket = _bucket(tmp_path)
    first = S3Objects(bucket, "acme")
    bucket.put_new(first.name_of(KEYS[0]), b"")
    first.put(KEYS[0], b"body")
    assert S3Objects(bucket, "acme").get(KEYS[0]) == b"body"


def test_a_directory_before_a_bucket_keeps_what_was_read(tmp_path: Path) -> None:
    """The second reading needs no server; damage in the directory is passed over, damage behind it is not taken in."""
    directory, bucket = DirectoryObjects(tmp_path), _bucket(tmp_path)
    behind = S3Objects(bucket, "acme")
    right, wrong = b"right " * 100, b"wrong"
    key, damaged = DIGESTER.digest(right), DIGESTER.digest(b"lost")
    behind.put(key, right)
    behind.put(damaged, wrong)
    cached = CachedObjects(directory, behind, is_whole=lambda key, data: DIGESTER.digest(data) == key)
    assert cached.get(key) == right
    assert directory.get(key) == right
    assert cached.get(damaged) == wrong
    assert directory.get(damaged) is None
    directory.path_of(key).write_bytes(wrong)
    assert CachedObjects(directory, behind, is_whole=lambda key, data: DIGESTER.digest(data) == key).get(key) == right
    cached.put(KEYS[3], b"near")
    assert behind.get(KEYS[3]) is None
