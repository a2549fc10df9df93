"""A verdict depends on the recording and the code, on nothing else: not on order, process, hash seed, or other replays."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import replayed_fleet
from replays import Replays, diverged, evidence_bytes, reproduced
from tachograph.core.ports import ReplayOptions
from tachograph.core.replay import DivergenceKind, Verdict, verdict_json
from tachograph.replay_workers import replay
from tachograph.replay_workers._process import ReplayProcess

SEEDS = ("0", "1", "random")
TESTS = Path(__file__).parents[1]

_REPLAYING = """
import json, sys
from pathlib import Path
from tachograph.core.ports import ReplayOptions
from tachograph.core.replay import verdict_json
from tachograph.replay_workers import replay

home, jobs, code, *runs = sys.argv[1:]
results = replay(Path(home), runs, ReplayOptions(code=code or None), int(jobs), lambda *_: None)
print(json.dumps([verdict_json(result.verdict) for result in results]))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with runs that reproduce and runs that do not."""
    return tmp_path_factory.mktemp("independent")


@pytest.fixture(scope="module")
def replays(home: Path) -> Iterator[Replays]:
    """The home's replays."""
    with ReplayProcess() as process:
        yield Replays(home, process)


@pytest.fixture(scope="module")
def runs(replays: Replays, home: Path) -> list[str]:
    """Runs recorded in this process, and in others with other hash seeds."""
    names = ["ada", "bob", "cyd"]
    found = [replays.record(replayed_fleet.fleet, names), replays.record(replayed_fleet.fleet, [*names, "nobody"])]
    scripts = [_python(seed, str(TESTS / "replayed_fleet.py"), str(home / "home")) for seed in ("7", "random")]
    return [*found, *(printed.strip() for printed in scripts)]


@pytest.fixture(scope="module")
def changed(home: Path) -> Path:
    """Code in which an agent does something else, so early that no other order can explain it."""
    directory = home / "changed"
    directory.mkdir()
    text = (TESTS / "replayed_fleet.py").read_text()
    old = 'async with run.agent("desk") as desk:\n'
    assert old in text
    text = text.replace(old, f'{old}        await desk.call(str, "something else")\n')
    (directory / "replayed_fleet.py").write_text(text)
    return directory


@pytest.fixture(scope="module")
def expected(replays: Replays, runs: list[str], changed: Path) -> dict[str, list[object]]:
    """The verdicts on each run, with its own code and with changed code."""
    whole: list[object] = [_shown(reproduced(replays.replay(run_id))) for run_id in runs]
    other: list[object] = []
    for run_id in runs:
        verdict = replays.replay(run_id, code=str(changed))
        assert diverged(verdict).kind is DivergenceKind.CALL_EXTRA
        other.append(_shown(verdict))
    return {"": whole, str(changed): other}


def _shown(verdict: Verdict) -> object:
    return json.loads(json.dumps(verdict_json(verdict)))


def _python(seed: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
    ended = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("seed", SEEDS)
def test_verdicts_do_not_depend_on_the_hash_seed_or_the_process(
    seed: str, home: Path, runs: list[str], expected: dict[str, list[object]]
) -> None:
    """A service in a process with another hash seed, with one job or two, comes to the same."""
    for jobs, (code, verdicts) in zip(("1", "2"), expected.items(), strict=True):
        found = json.loads(_python(seed, "-c", _REPLAYING, str(home / "home"), jobs, code, *runs))
        assert found == verdicts


@pytest.mark.parametrize("seed", range(2))
def test_verdicts_do_not_depend_on_order_or_company(
    seed: int, home: Path, runs: list[str], changed: Path, expected: dict[str, list[object]]
) -> None:
    """Runs replayed in any order, some of them twice, side by side or one by one, come to the same."""
    rng = random.Random(seed)
    for code, verdicts in expected.items():
        chosen = [*runs, rng.choice(runs)]
        rng.shuffle(chosen)
        chosen = list(dict.fromkeys(chosen))
        options = ReplayOptions(code=code or None)
        results = replay(home / "home", chosen, options, rng.choice((1, 2)), lambda *_: None)
        assert [result.run_id for result in results] == chosen
        assert [_shown(result.verdict) for result in results] == [verdicts[runs.index(run_id)] for run_id in chosen]


def test_the_same_process_comes_to_the_same_again(
    replays: Replays, runs: list[str], changed: Path, expected: dict[str, list[object]]
) -> None:
    """What a replay leaves behind in its process changes no later one."""
    for _ in range(3):
        assert _shown(replays.replay(runs[1])) == expected[""][1]
        assert _shown(replays.replay(runs[1], code=str(changed))) == expected[str(changed)][1]


def test_the_same_run_may_be_asked_for_twice(home: Path, runs: list[str], expected: dict[str, list[object]]) -> None:
    """In one call."""
    results = replay(home / "home", [runs[0], runs[0]], ReplayOptions(), 2, lambda *_: None)
    assert [_shown(result.verdict) for result in results] == [expected[""][0]] * 2


def test_replays_leave_the_evidence_as_it_was(
    home: Path, replays: Replays, runs: list[str], changed: Path, expected: dict[str, list[object]]
) -> None:
    """Every byte below log, objects and keys."""
    before = evidence_bytes(home / "home")
    for code in expected:
        replay(home / "home", runs, ReplayOptions(code=code or None), 2, lambda *_: None)
    replays.replay(runs[0], steps_max=3)
    assert evidence_bytes(home / "home") == before
    assert {path.split("/")[0] for path in before} >= {"log", "keys"}


def test_order_by_hash_is_the_same_in_every_replay(replays: Replays) -> None:
    """Control logic that follows the order of a set may diverge from a recording made with another hash seed; if it does,
    it does so in every replay, and at the same place.
    """
    run_id = replays.record(replayed_fleet.by_hash)
    first = _shown(replays.replay(run_id))
    assert [_shown(replays.replay(run_id)) for _ in range(3)] == [first] * 3
