"""Bringing exported runs into a home: each is checked as a whole in a home of its own first, and then appended at once."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tachograph.control._errors import BundleDamaged, OtherDigestKey
from tachograph.control._export import FORMAT, key_mark, objects_of
from tachograph.core.errors import StoreUnavailable, UnreadableInput
from tachograph.core.ports import ImportResult, Progress
from tachograph.schemas import decode_foreign, read_container
from tachograph.stores import Home, verify_home
from tachograph.stores.backend import Backend, backend_of

_KEY = Path("keys", "digest.key")


def import_bundles(path: Path, files: Sequence[Path], progress: Progress) -> ImportResult:
    """Append the runs of files that `tacho export` wrote, under the ids that they have.

    A file that is refused leaves nothing behind; those before it stay.

    Args:
        path: of the home, made where only its key is there yet.
        files: to read.
        progress: told of each file.

    Raises:
        UnreadableInput: a file cannot be opened.
        EvidenceBroken: it is no exported run, or it is damaged.
        OtherDigestKey: its bodies cannot be checked with this home's key.
        StoreUnavailable: the home cannot be written.
    """
    run_ids: list[str] = []
    skipped: list[str] = []
    for done, file in enumerate(files):
        progress(done, len(files), file.name)
        run_id, is_new = _import(path, file)
        if is_new:
            run_ids.append(run_id)
        else:
            skipped.append(f"{file.name} is here already, as run {run_id}.")
    grades: Counter[str] = Counter()
    if run_ids:
        catalogue = Home.open(path).catalogue
        grades.update(catalogue.run(run_id).fidelity for run_id in run_ids)
    return ImportResult(tuple(run_ids), dict(grades), tuple(skipped))


def _import(path: Path, file: Path) -> tuple[str, bool]:
    """The file's run, and whether it was not there before."""
    if not (backend_of().digest_key_file or path / _KEY).exists():
        raise OtherDigestKey(str(file))
    home = Home.open(path, create=True)
    with tempfile.TemporaryDirectory(prefix="tacho-import-") as directory:
        staged = _staged_home(home, Path(directory))
        run_id, payloads = _stage(staged, file)
        if run_id in home.log.run_ids():
            return run_id, False
        _check(staged, run_id, file)
        for key, data in objects_of(staged, payloads):
            home.objects.put(key, data)
    with home.new_spool() as spool:
        spool.append(payloads)
    return run_id, True


def _staged_home(home: Home, directory: Path) -> Home:
    """An empty home under the same key."""
    try:
        (directory / _KEY.parent).mkdir()
        shutil.copy(home.key_file, directory / _KEY)
    except OSError as error:
        raise StoreUnavailable(str(directory), error.strerror or str(error)) from error
    return Home.open(directory, create=True, backend=Backend())


def _stage(staged: Home, file: Path) -> tuple[str, list[bytes]]:
    """Put everything into the staged home; the run's id and its events."""
    try:
        with file.open("rb") as opened:
            container = read_container(opened)
            run_id = _named(file, container.manifest, staged)
            payloads = list(container.payloads)
            for key, data in container.objects.items():
                staged.objects.put(key, data)
    except OSError as error:
        remedy = "Give files that `tacho export` wrote."
        raise UnreadableInput(str(file), error.strerror or str(error), remedy) from error
    if not payloads or any(decode_foreign(payload).meta.run_id != run_id for payload in payloads):
        raise BundleDamaged(str(file), f"its events are not those of run {run_id!r} alone")
    with staged.new_spool() as spool:
        spool.append(payloads)
    return run_id, payloads


def _named(file: Path, manifest: Mapping[str, str], staged: Home) -> str:
    """The id of the run that a file says it holds."""
    if manifest.get("format") != FORMAT or "run_id" not in manifest:
        raise BundleDamaged(str(file), "it does not hold an exported run")
    if manifest.get("digest_key") != key_mark(staged.digester):
        raise OtherDigestKey(str(file))
    return manifest["run_id"]


def _check(staged: Home, run_id: str, file: Path) -> None:
    """Refuse what a verification of the home would call damaged."""
    report = verify_home(staged, [run_id], lambda _done, _total, _what: None)
    damage = [finding.sentence for finding in report.findings if finding.severity == "damage"]
    if damage:
        more = f" (and {len(damage) - 1} more)" if len(damage) > 1 else ""
        raise BundleDamaged(str(file), f"{damage[0].rstrip('.')}{more}")
