"""Which pictures stand by a finding and which behind it."""

from __future__ import annotations

from doctor.session.analyze import analyze_paths
from doctor.session.report import Report
from doctor.views.finding_pictures import draw_pictures
from doctor.views.page import Page
from tests.views.tui.walker import JOBS

HEADS = {"waits": "Who waits for whom", "experts": "tokens of the experts", "time": "where the time of the devices"}


def drawn(report: Report, rule: str, own: bool) -> set[str]:
    page = Page(100)
    draw_pictures(page, report, report.rulebase.rules[rule], "en", own)
    text = "\n".join(line.plain for line in page.lines())
    return {kind for kind, head in HEADS.items() if head in text}


def test_each_picture_is_drawn_once_near_the_rules_that_read_what_it_shows() -> None:
    hang, slow = (analyze_paths((str(JOBS[name]),)) for name in ("hang", "slow_moe"))
    assert (drawn(hang, "HNG003", True), drawn(hang, "HNG003", False)) == ({"waits"}, set())
    assert (drawn(slow, "MOE020", True), drawn(slow, "MOE020", False)) == ({"experts"}, {"time"})
    assert drawn(slow, "PRF033", True) >= {"time"}
