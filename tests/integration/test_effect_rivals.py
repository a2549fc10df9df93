"""An effect under a key leaves once, however many processes go for it in the same instant, and whichever of them die."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recordings import check_run, payloads_of
from tachograph.producers import Recorder
from tachograph.schemas import EffectState, EffectTransitioned
from tachograph.stores import Home, verify_home

RIVALS = Path(__file__).parent.parent / "rivals.py"


class Rival:
    """A process of its own."""

    def __init__(self, home: Path, file: Path) -> None:
        command = [sys.executable, str(RIVALS), str(home), str(file)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.says() == "ready"

    def told(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def asked(self, line: str) -> str:
        self.told(line)
        return self.says()

    def killed(self) -> None:
        self.process.kill()
        self.process.wait()

    def ended(self) -> None:
        self.process.communicate(timeout=30)


@contextmanager
def rivals(tmp_path: Path) -> Iterator[tuple[Rival, Rival, Path]]:
    """Two processes over one home, and the file that they write to."""
    file = tmp_path / "effects"
    both = [Rival(tmp_path / "home", file) for _ in range(2)]
    try:
        yield both[0], both[1], file
    finally:
        for rival in both:
            rival.ended()


def test_of_two_processes_in_the_same_instant_one_lets_its_effect_leave(tmp_path: Path) -> None:
    """For every key: the other one is told that it is on its way, or has happened."""
    keys = [f"key {number}" for number in range(60)]
    said: list[str] = []
    with rivals(tmp_path) as (one, other, file):
        for key in keys:
            one.told(key)
            other.told(key)
            said += sorted((one.says().split()[0], other.says().split()[0]))
    assert file.read_text().splitlines() == keys
    assert said[1::2] == ["done"] * 60
    assert set(said[::2]) <= {"EffectAlreadyConfirmed", "ReconciliationRequired"}
    home = Home.open(tmp_path / "home")
    moved = Counter(event.to_state for event in _transitions(home))
    assert moved[EffectState.EXECUTING] == moved[EffectState.CONFIRMED] == 60
    assert verify_home(home).findings == ()
    assert list((home.path / "claims").iterdir()) == []


def test_an_effect_whose_process_died_is_unknown_to_its_rival(tmp_path: Path) -> None:
    """While it is on its way, and after: the refusal names it; once it is decided that it did not happen, it may leave."""
    with rivals(tmp_path) as (one, other, file):
        assert one.asked("slow") == "on its way"
        refusal = other.asked("slow")
        one.killed()
        assert refusal == other.asked("slow") != ""
        word, effect_id = refusal.split()
        assert word == "ReconciliationRequired"
        with Recorder(tmp_path / "home") as recorder:
            recorder.reconcile(effect_id, happened=False, reason="nothing was sent", by="ann")
        assert other.asked("slow") == "on its way"
        assert other.asked("") == "done"
    assert file.read_text().splitlines() == ["slow", "slow"]


def _transitions(home: Home) -> list[EffectTransitioned]:
    events = [event for run_id in home.log.run_ids() for event in check_run(payloads_of(home, run_id))]
    return [event for event in events if isinstance(event, EffectTransitioned)]
