"""Facts that do not come from the job's files."""

from __future__ import annotations

import threading
from pathlib import Path

from doctor.facts.model import Fact, Quality, Source
from doctor.session.watch.further import Further
from tests.session.watch.replay import Replay


def test_the_last_facts_of_each_giver_count() -> None:
    further = Further()
    further.give("stacks", [Fact("stack.fault", "data", "rank:2")])
    further.give("memory", [Fact("mem.grows", True)])
    further.give("stacks", [Fact("stack.fault", "collective", "rank:2")])
    assert [fact.value for fact in further.facts()] == ["collective", True]
    further.give("stacks", ())
    assert [fact.value for fact in further.facts()] == [True]


def test_another_attempt_begins_with_what_lasts() -> None:
    further = Further()
    further.give("this node", [Fact("node.memory_total", 1 << 40)], lasting=True)
    further.give("stacks", [Fact("stack.fault", "data", "rank:2")])
    further.begin_attempt()
    assert [fact.name for fact in further.facts()] == ["node.memory_total"]


def test_nothing_is_lost_where_several_give_at_once() -> None:
    further = Further()
    givers = [
        threading.Thread(target=lambda own=own: [further.give(f"{own} {n}", [Fact("x", n)]) for n in range(200)])  # type: ignore[misc]
        for own in range(8)
    ]
    for giver in givers:
        giver.start()
    for giver in givers:
        giver.join()
    assert len(further.facts()) == 8 * 200


def test_a_dump_of_one_attempt_accuses_nobody_in_the_next(tmp_path: Path) -> None:
    replay = Replay(tmp_path)
    replay.write("run/attempt_0/2/stdout.log", "[rank2]: step 1\n")
    replay.turns(2)
    stacks = Source("stacks", "py-spy")
    replay.watch.add_facts("stacks", [Fact("stack.fault", "data", "rank:2", stacks, quality=Quality.MEASURED)])
    replay.turns(2)
    replay.write("run/attempt_1/2/stdout.log", "[rank2]: step 1\n")
    replay.turns(20)
    assert replay.keys() == ["new HNG051"]
    assert replay.watch.report is not None
    assert replay.watch.report.diagnosis.roots == ()
    (before,) = replay.watch.episodes
    assert [root.rule.id for root in before.report.diagnosis.roots] == ["HNG051"]
