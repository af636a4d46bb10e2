from __future__ import annotations

from doctor.cli.tell import status
from doctor.session.watch.remembered import remembered
from doctor.views import present
from tests.session.watch.announcements import the_report


def test_what_is_kept_says_the_same_in_short() -> None:
    report = the_report()
    kept = remembered(report)
    for lang in ("en", "zh"):
        assert present.headline(kept, lang) == present.headline(report, lang)
    for fail_on in ("fatal", "risk"):
        assert status(kept, fail_on) == status(report, fail_on)
    assert len(kept.store.events()) <= len(present.ranks_seen(report)) + 1
    assert not any(root.outcomes for root in kept.diagnosis.roots)
