"""An exception counts unless the job made steps after it and nothing tells that a process ended."""

from typing import Any

from doctor.engine.survived import caught, milestones, reported_ends, restarted, uncaught, went_on
from doctor.facts.model import Event, EventSpec, Symptom
from tests.support import event, store

SPECS = {
    "step": EventSpec("step", ("step",), phase="training"),
    "import": EventSpec("import", ("import",), symptom=Symptom.FATAL, raised=True),
    "ended": EventSpec("ended", ("ended",), symptom=Symptom.FATAL, follows=True),
}


WITH_PHASES = SPECS | {
    "progress.initializing": EventSpec("progress.initializing", ("init",), phase="init"),
    "progress.loading": EventSpec("progress.loading", ("load",), phase="load"),
}


def steps(first: int, count: int, rank: int | None = None) -> list[Event]:
    return [event("step", first + i, step=i, rank=rank) for i in range(count)]


def survivors(*events: Event) -> list[Event]:
    known = store(*events)
    return caught(known.events("import"), milestones(known, SPECS), reported_ends(known, SPECS))


def test_an_exception_before_steps_was_caught() -> None:
    raised = event("import", 1)
    assert survivors(raised, *steps(2, 3)) == [raised]


def test_one_at_the_end_was_not() -> None:
    assert survivors(*steps(1, 3), event("import", 4)) == []


def test_two_steps_may_have_been_on_their_way() -> None:
    assert survivors(event("import", 1), *steps(2, 2)) == []


def test_a_process_that_ended_after_it_did_not_survive() -> None:
    assert survivors(event("import", 1), *steps(2, 3), event("ended", 9)) == []


def test_steps_of_another_rank_are_no_sign_of_life() -> None:
    raised = event("import", 1, rank=0)
    told = milestones(store(raised, *steps(2, 3, rank=1)), SPECS)
    assert not went_on(raised, told[raised.source.path], 1)


def lines(first: int, numbers: range, name: str = "progress.loss_line", **fields: Any) -> list[Event]:
    return [event(name, first + i, step=step, **fields) for i, step in enumerate(numbers)]


def again(*events: Event) -> bool:
    [raised] = [one for one in events if one.name == "import"]
    return restarted(raised, milestones(store(*events), WITH_PHASES).get("job.log", ()))


def test_lines_of_the_loss_are_signs_of_life() -> None:
    raised = event("import", 1)
    assert survivors(raised, *lines(2, range(3))) == [raised]


def test_a_bar_is_drawn_once_more_at_the_end() -> None:
    raised = event("import", 10)
    told = milestones(store(*lines(1, range(3), "progress.bar"), raised, event("progress.bar", 11, step=4)), SPECS)
    assert not went_on(raised, told["job.log"], 1)
    told = milestones(store(raised, *lines(11, range(4, 7), "progress.bar")), SPECS)
    assert went_on(raised, told["job.log"], 1)


def test_the_bar_of_loading_is_no_sign_of_life() -> None:
    raised = event("import", 1)
    assert survivors(raised, *lines(2, range(5), "progress.bar", label="Loading shards")) == []


def test_a_speed_alone_may_sum_up_what_is_over() -> None:
    raised = event("import", 1)
    assert survivors(raised, *(event("progress.rate", 2 + i, samples_per_s=1.0) for i in range(4))) == []


def test_steps_that_count_anew_belong_to_another_attempt() -> None:
    assert again(*lines(1, range(5, 9)), event("import", 5), *lines(6, range(1, 9)))
    assert survivors(*lines(1, range(5, 9)), event("import", 5), *lines(6, range(1, 9))) == []


def test_steps_that_go_on_do_not() -> None:
    assert not again(*lines(1, range(1, 5)), event("import", 5), *lines(6, range(5, 9)))
    assert not again(event("import", 5), *lines(6, range(1, 9)))


def test_the_first_step_of_the_next_epoch_is_no_other_attempt() -> None:
    assert not again(*lines(1, range(5, 9), epoch=1), event("import", 5), *lines(6, range(4), epoch=2))
    assert not again(*lines(1, range(5, 9), total=8), event("import", 5), *lines(6, range(1, 5), total=8))
    assert again(*lines(1, range(5, 9), epoch=2), event("import", 5), *lines(6, range(4), epoch=1))


def test_a_start_after_steps_is_another_attempt() -> None:
    begins = event("progress.initializing", 6)
    assert again(*lines(1, range(4)), event("import", 5), begins, *lines(7, range(4, 8)))
    assert not again(event("import", 5), begins, *lines(7, range(4, 8)))


def test_what_is_loaded_is_one_only_if_steps_follow() -> None:
    loads = event("progress.loading", 6)
    assert again(*lines(1, range(4)), event("import", 5), loads, *lines(7, range(4, 8)))
    assert not again(*lines(1, range(4)), event("import", 5), loads)


def test_an_exception_that_left_the_program_was_not_caught() -> None:
    frames = "/work/train.py:<module>: main()\n/work/train.py:main: step()"
    raised = event("import", 1)
    left = event("python.traceback", 1, frames=frames, exception="RuntimeError")
    told = [raised, *lines(2, range(5))]
    known = store(*told, left)
    assert caught([raised], milestones(known, SPECS), {}, [left]) == []
    assert caught([raised], milestones(known, SPECS), {}, [event("python.traceback", 40, frames=frames)]) == [raised]


def test_the_outermost_frame_tells_whether_it_did() -> None:
    def left(frames: str, exception: str = "ValueError") -> bool:
        return uncaught(event("python.traceback", frames=frames, exception=exception))

    assert left("/work/train.py:<module>: main()\n/work/train.py:main: step()")
    assert left("<frozen runpy>:_run_module_as_main: ")
    assert not left("/work/train.py:main: step()\n/work/plugin.py:<module>: load()")
    assert not left("/work/train.py:<module>: import apex", "ModuleNotFoundError")
    assert not left("/opt/lib/python3.12/site-packages/kernels/setup.py:<module>: probe()")
    assert not left("<string>:<module>: ")
    assert not left("")
