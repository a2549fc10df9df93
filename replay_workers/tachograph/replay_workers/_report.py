"""The `report` service: what a replay or a fork showed, as one page, one document and one text.

`_report_gather` reads the run's log and makes a `Report` of it (`_report_values`): facts (`_report_run`) and the time line
(`_report_rows`, `_report_window`, `_report_timeline`). `_report_html` draws it (`_report_diagram`, `_report_divergence`,
`_report_template`), `_report_json` and `_report_text` write it down; `_report_files` puts the files in their place. All
text from a run goes through `_report_plain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tachograph.core.ports import ForkResult, ReplayResult
from tachograph.replay_workers._report_files import write_files
from tachograph.replay_workers._report_gather import gather
from tachograph.replay_workers._report_html import report_html
from tachograph.replay_workers._report_json import report_json_text
from tachograph.replay_workers._report_text import report_text


def report(home: Path, result: ReplayResult | ForkResult, directory: Path) -> Mapping[str, Path]:
    """Write `report.html`, `report.json` and `report.txt`; returns format to path.

    Raises:
        InvalidSetting: Jinja is not installed; nothing was written.
        ReportUnwritable: the directory cannot be written.
    """
    found = gather(home, result)
    files = {"html": report_html(found), "json": report_json_text(found), "txt": report_text(found)}
    return write_files(directory, files)
