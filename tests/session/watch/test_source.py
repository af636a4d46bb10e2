"""A watched job as the source of a session: what is told of it, and when nothing is any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from doctor.rulebase.load import load_rulebase
from doctor.session.notes import Note
from doctor.session.watch.ending import End, Ending
from doctor.session.watch.follow import follow
from doctor.session.watch.model import Announcement
from doctor.session.watch.source import Standing, Watched
from doctor.session.watch.watch import Watch
from tests.session.watch.test_watch import OOM, steps


def watched(
    folder: Path,
    seconds: float | None = None,
    notes: list[Note] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Watched:
    """Which ends after so many seconds by `clock`."""
    following = follow([str(folder)])
    watch = Watch(load_rulebase(()), following.follower, following.roots)
    left = notes or []
    heard = lambda: [left.pop() for _ in range(len(left))]  # noqa: E731
    return Watched(
        watch, following, Ending(following, seconds, clock=clock), [str(folder)], 0.05, lambda said: None, heard
    )


def test_it_tells_how_the_job_stands_and_last_how_it_ended(tmp_path: Path) -> None:
    (tmp_path / "rank2.log").write_text(steps(2, 1, 30))
    told: list[Standing] = []
    source = watched(tmp_path, 3.0, clock=lambda: 3.0 * any(standing.said for standing in told))
    source.collect(lambda item: None)

    def heard(standing: Standing) -> bool:
        if not told:
            with (tmp_path / "rank2.log").open("a") as file:
                file.write(OOM)
        told.append(standing)
        return True

    source.go_on(heard)
    assert [standing.end for standing in told if standing.end] == [End.TIME]
    assert told[-1].end is End.TIME and told[-1].material is not None
    assert told[0].status.step == 29 and told[0].said == () and told[0].material is None
    said: list[Announcement] = [said for standing in told for said in standing.said]
    assert [one.entities for one in said] == [("rank:2",)]
    assert all(standing.material is not None for standing in told if standing.said)


def test_remarks_from_elsewhere_are_told_once(tmp_path: Path) -> None:
    (tmp_path / "rank2.log").write_text(steps(2, 1, 30))
    note = Note("attach.writable_again", "out.jsonl")
    told: list[Standing] = []
    source = watched(tmp_path, 3.0, [note], lambda: float(len(told)))
    source.collect(lambda item: None)
    source.go_on(lambda standing: not told.append(standing))  # type: ignore[func-returns-value]
    assert [each for standing in told for each in standing.notes] == [note]


def test_after_it_was_stopped_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "rank2.log").write_text(steps(2, 1, 30))
    source = watched(tmp_path)
    source.collect(lambda item: None)
    going = threading.Event()
    told: list[Standing] = []

    def heard(standing: Standing) -> bool:
        told.append(standing)
        going.set()
        return True

    thread = threading.Thread(target=source.go_on, args=(heard,))
    thread.start()
    going.wait(180)
    source.stop()
    thread.join(180)
    assert not thread.is_alive()
    assert told[-1].end is None


def test_who_looks_no_more_ends_it(tmp_path: Path) -> None:
    (tmp_path / "rank2.log").write_text(steps(2, 1, 30))
    source = watched(tmp_path)
    source.collect(lambda item: None)
    source.go_on(lambda standing: False)
