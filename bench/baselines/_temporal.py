"""Temporal's Replayer over a history of activities, built by hand in the server's JSON form.

It replays as many calls in one history as ours in one run. What a call costs it grows with the history. Measured once:
1.3 ms in one of 300 calls one by one, 1.9 ms in one of 3,000, 4.2 ms in one of 8,000; ten at a time 0.3, 0.37 and 0.48 ms.
A server ends a history at 51,200 events, which 8,000 calls one by one nearly are; 10,000 ten at a time are 33,000.
"""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta

import orjson
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from bench._measure import Figures, Subject, timed
from bench._payload import BATCHED_CALLS, SEQUENTIAL_CALLS, pairs

_PAIRS = pairs(256)
_QUEUE = {"name": "bench"}


@workflow.defn(name="sequential", sandboxed=False)
class Sequential:
    """One activity after another."""

    @workflow.run
    async def run(self, count: int) -> int:
        """Call `count` activities."""
        for index in range(count):
            await workflow.execute_activity(
                "tool", _PAIRS[index % 256][0], start_to_close_timeout=timedelta(seconds=60), activity_id=str(index + 1)
            )
        return count


@workflow.defn(name="batched", sandboxed=False)
class Batched:
    """Ten activities at a time."""

    @workflow.run
    async def run(self, count: int) -> int:
        """Call `count` activities."""
        for start in range(0, count, 10):
            await asyncio.gather(
                *(
                    workflow.execute_activity(
                        "tool",
                        _PAIRS[index % 256][0],
                        start_to_close_timeout=timedelta(seconds=60),
                        activity_id=str(index + 1),
                    )
                    for index in range(start, start + 10)
                )
            )
        return count


def sequential() -> Subject:
    """One activity in each workflow task, unsandboxed."""
    return _subject("sequential", SEQUENTIAL_CALLS, 1)


def batched() -> Subject:
    """Ten activities in each workflow task, unsandboxed."""
    return _subject("batched", BATCHED_CALLS, 10)


def _subject(name: str, calls: int, group: int) -> Subject:
    history = WorkflowHistory.from_json("bench", _History(name, calls, group).build())

    async def replay() -> None:
        replayer = Replayer(workflows=[Sequential, Batched], workflow_runner=UnsandboxedWorkflowRunner())
        result = await replayer.replay_workflow(history)
        if result.replay_failure:
            raise result.replay_failure

    def measured(_: int) -> Figures:
        return timed(lambda _: asyncio.run(replay()), calls)

    return measured


class _History:
    """Writes the events a server would have written."""

    def __init__(self, name: str, calls: int, group: int) -> None:
        self._name = name
        self._calls = calls
        self._group = group
        self._events: list[dict[str, object]] = []

    def build(self) -> dict[str, object]:
        self._start()
        task = self._task()
        for start in range(0, self._calls, self._group):
            scheduled = [self._schedule(index, task) for index in range(start, start + self._group)]
            for index, event in zip(range(start, start + self._group), scheduled, strict=True):
                self._complete(index, event)
            task = self._task()
        self._add(
            "WORKFLOW_EXECUTION_COMPLETED",
            "workflowExecutionCompletedEventAttributes",
            {"result": _payloads(self._calls), "workflowTaskCompletedEventId": task},
        )
        return {"events": self._events}

    def _add(self, kind: str, key: str, attributes: dict[str, object]) -> str:
        number = len(self._events) + 1
        self._events.append(
            {
                "eventId": str(number),
                "eventTime": f"2024-01-01T00:00:00.{number:06d}Z",
                "eventType": f"EVENT_TYPE_{kind}",
                key: attributes,
            }
        )
        return str(number)

    def _start(self) -> None:
        self._add(
            "WORKFLOW_EXECUTION_STARTED",
            "workflowExecutionStartedEventAttributes",
            {
                "workflowType": {"name": self._name},
                "taskQueue": _QUEUE,
                "input": _payloads(self._calls),
                "originalExecutionRunId": "run",
                "firstExecutionRunId": "run",
                "attempt": 1,
                "workflowTaskTimeout": "10s",
                "workflowId": "bench",
            },
        )

    def _task(self) -> str:
        scheduled = self._add(
            "WORKFLOW_TASK_SCHEDULED",
            "workflowTaskScheduledEventAttributes",
            {"taskQueue": _QUEUE, "startToCloseTimeout": "10s", "attempt": 1},
        )
        started = self._add(
            "WORKFLOW_TASK_STARTED", "workflowTaskStartedEventAttributes", {"scheduledEventId": scheduled}
        )
        return self._add(
            "WORKFLOW_TASK_COMPLETED",
            "workflowTaskCompletedEventAttributes",
            {"scheduledEventId": scheduled, "startedEventId": started},
        )

    def _schedule(self, index: int, task: str) -> str:
        return self._add(
            "ACTIVITY_TASK_SCHEDULED",
            "activityTaskScheduledEventAttributes",
            {
                "activityId": str(index + 1),
                "activityType": {"name": "tool"},
                "taskQueue": _QUEUE,
                "input": _payloads(_PAIRS[index % 256][0]),
                "workflowTaskCompletedEventId": task,
                "startToCloseTimeout": "60s",
            },
        )

    def _complete(self, index: int, scheduled: str) -> None:
        started = self._add(
            "ACTIVITY_TASK_STARTED",
            "activityTaskStartedEventAttributes",
            {"scheduledEventId": scheduled, "attempt": 1},
        )
        self._add(
            "ACTIVITY_TASK_COMPLETED",
            "activityTaskCompletedEventAttributes",
            {"result": _payloads(_PAIRS[index % 256][1]), "scheduledEventId": scheduled, "startedEventId": started},
        )


def _payloads(value: object) -> dict[str, object]:
    encoded = base64.b64encode(orjson.dumps(value)).decode()
    return {"payloads": [{"metadata": {"encoding": base64.b64encode(b"json/plain").decode()}, "data": encoded}]}
