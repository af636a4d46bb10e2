"""Events carry what was known when they were printed; millions of equal lines stay cheap; facts follow."""

from __future__ import annotations

from itertools import pairwise

from doctor.facts.model import EventSpec
from probes.files.log import read_text, read_texts
from probes.files.log.captures import convert
from tests.probes.files.log.specs import ALL
from tests.probes.files.log.support import events, facts, last_lines, one

STEP = "[2024-09-03 15:{:02d}:{:02d}] iteration {:8d}/ 9000 | elapsed time per iteration (ms): {:.1f} | lm loss: 2.0\n"
OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.32 GiB\n"


def steps(first: int, last: int) -> str:
    return "".join(STEP.format(n // 60 % 60, n % 60, n, 1000 + n % 7) for n in range(first, last + 1))


def test_step_and_phase_are_those_before_the_line() -> None:
    found = events("Using network IB\n" + steps(1, 3) + OOM)
    assert [(event.name, event.step, event.phase) for event in found] == [
        ("network", None, "start"),
        ("step", None, "training"),
        ("step", 1, "training"),
        ("step", 2, "training"),
        ("oom", 3, "training"),
    ]


def test_the_order_of_events_is_that_of_the_file() -> None:
    found = events(steps(1, 3) + OOM + "Using network IB\n")
    assert [event.order for event in found] == sorted(event.order for event in found)


def test_captures_are_typed() -> None:
    assert one("Reduce bucket size 500,000,000\n").fields["size"] == 500_000_000
    assert one(OOM).fields["requested"] == round(2.32 * 2**30)


def test_sizes_have_prefixes_up_to_the_largest_that_a_message_may_hold() -> None:
    assert convert("7.25 EiB", "bytes") == round(7.25 * 2**60)
    assert convert("2 PB", "bytes") == 2 * 10**15
    assert convert("2 XiB", "bytes") is None


def test_a_capture_that_does_not_convert_is_left_out() -> None:
    assert "requested" not in one("out of memory. Tried to allocate 2.3.2 GiB").fields


def test_several_patterns_of_one_event_make_one_occurrence() -> None:
    spec = EventSpec("e", (r"Failed to open (?P<what>\w+)", r"Failed to open \w+ because (?P<why>\w+)"))
    event = one("Failed to open door because locked", specs=[spec])
    assert dict(event.fields) == {"what": "door", "why": "locked"}


def test_a_pattern_does_not_match_over_lines() -> None:
    spec = EventSpec("e", (r"Failed to open\s+(?P<what>\w+)",))
    assert events("Failed to open\nUsing\nFailed to open x\n", specs=[spec])[0].source.line == 3


def test_a_pattern_that_no_engine_takes_does_not_harm_the_others() -> None:
    bad = EventSpec("bad", (r"(?<=a)bcdef", r"(unclosed", r"(?P<x>a)(?P=x)"))
    reading = read_text("job.log", (OOM + "abcdef aa\n").encode(), [bad, *ALL])
    assert {event.name for event in reading.events} == {"oom", "bad", "log.last_line"}


def test_a_million_equal_lines() -> None:
    reading = read_text("job.log", OOM.encode() * 1_000_000, ALL)
    found = [event for event in reading.events if event.name == "oom"]
    assert len(found) < 1000
    assert (found[0].source.line, found[-1].source.line) == (1, 1_000_000)
    (count,) = [fact.value for fact in reading.facts if fact.name == "log.count.oom"]
    assert isinstance(count, int) and abs(count - 1_000_000) < 50_000


def test_captures_are_named_alike_whatever_engine_reads_the_line() -> None:
    nested = EventSpec("nested", (r"Tried (?:(?:a|b) )*(?P<size>\d+) (?:(?:c|d) )*done",), {"size": "int"})
    text = "Tried a b 12 c d done" + " x" * 20_000 + "\n"
    for line in (text, text[:22] + "\n"):
        (found,) = [e for e in read_text("job.log", line.encode(), [nested]).events if e.name == "nested"]
        assert found.fields["size"] == 12


def test_in_bulk_the_last_step_before_a_failure_is_exact() -> None:
    found = events(steps(1, 60_000) + OOM + steps(60_001, 90_000))
    oom = next(event for event in found if event.name == "oom")
    assert (oom.step, oom.source.line) == (60_000, 60_001)
    assert found[-1].fields["step"] == 90_000
    kept = [int(str(event.fields["step"])) for event in found if event.name == "step"]
    assert len(kept) < 2_000
    assert max(b - a for a, b in pairwise(kept)) < 25_000


def test_every_rank_keeps_its_first_occurrence() -> None:
    lines = "[rank0]: " + OOM.strip() + "\n"
    found = events(lines * 3000 + "[rank9]: " + OOM + lines * 3000)
    assert {event.rank for event in found} == {0, 9}


def test_the_last_line_is_the_last_that_says_something() -> None:
    text = (
        steps(1, 2)
        + "saving checkpoint\n\n[rank3]:[E903 20:10:00.5 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught\n"
        "frame #0: c10::Error::Error(...)\n"
        "W0903 20:10:01.0 7 torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGTERM\n"
        "============\nRoot Cause (first observed failure):\n[0]:\n  time      : 2024\n  exitcode  : -6 (pid: 7)\n"
    )
    assert last_lines(text, "rank3.log") == {3: "saving checkpoint"}


def test_the_last_line_of_each_labelled_rank() -> None:
    text = "[rank0]: saving\n[rank1]: saving\n[rank0]: done\n"
    assert last_lines(text) == {0: "done", 1: "saving"}


def test_a_log_of_noise_has_its_last_line_all_the_same() -> None:
    assert last_lines("frame #0: x\nframe #1: y\n") == {None: "frame #1: y"}


def test_facts_of_a_job() -> None:
    text = "n1:41:99 [0] NCCL INFO Using network IB\n" + steps(10, 12) + OOM
    known = facts(rank_0=text, rank_1=text.replace("n1:41", "n2:41"))
    assert known["log.files", "job"] == 2
    assert known["rank.host", "rank:0"] == "n1" and known["rank.host", "rank:1"] == "n2"
    assert known["run.first_step", "job"] == 10 and known["run.last_step", "job"] == 12
    assert known["rank.last_line", "rank:1"] == OOM.strip()
    assert known["log.ranks_seen", "job"] == (0, 1)
    assert round(float(str(known["run.step_time", "job"])), 3) == 1.004


def test_a_bar_of_loading_counts_no_training_steps() -> None:
    loading = "Loading checkpoint shards: 100%|####| 4/4 [00:06<00:00,  1.55s/it]\n"
    known = facts(rank_0=loading + " 50%|##| 203/406 [10:09<10:09,  3.00s/it]\n")
    assert (known["run.first_step", "job"], known["run.step_time", "job"]) == (203, 3.0)
    assert ("run.first_step", "job") not in facts(rank_0=loading)


def test_facts_of_several_runs_are_apart() -> None:
    known = facts(before=steps(1, 5), after=steps(1, 9))
    assert known["run.last_step", "run:before"] == 5
    assert known["run.last_step", "run:after"] == 9
    assert ("run.last_step", "job") not in known


def test_in_large_logs_vague_messages_are_found_where_it_matters() -> None:
    vague = EventSpec("vague", (r"loss[ =:]{1,3}odd",))
    clear = EventSpec("clear", (r"something unusual happened",))
    healthy = "all is well with this line of the log, says the trainer\n" * 4000
    text = "loss: odd\n" + healthy * 20 + "loss: odd\nsomething unusual happened\n" + healthy * 20 + "loss: odd\n"
    found = read_text("job.log", text.encode(), [vague, clear]).events
    assert [(event.name, event.source.line) for event in found if event.name != "log.last_line"] == [
        ("vague", 1),
        ("vague", 80_002),
        ("clear", 80_003),
        ("vague", 160_004),
    ]


def test_the_launcher_of_one_node_names_ranks_by_their_place_on_it() -> None:
    """torchrun's agent says which local rank failed; where the logs are those of one node, that is the rank."""

    launcher = "[default2]: out of memory. Tried to allocate 2.00 GiB\n"
    single = [(f"logs/attempt_0/{n}/stderr.log", b"x\n") for n in range(4)]
    double = [(f"node{k}/attempt_0/{n}/stderr.log", b"x\n") for k in range(2) for n in range(4)]
    for logs, rank in ((single, 2), (double, None)):
        reading = read_texts([("launcher.log", launcher.encode()), *logs], ALL)
        assert [event.rank for event in reading.events if event.name == "oom"] == [rank]


def test_the_summary_of_torchrun_tells_which_rank_a_local_rank_is() -> None:
    failed = "[default2]: out of memory. Tried to allocate 2.00 GiB\n"
    summary = "[0]:\n  host      : n4\n  rank      : 18 (local_rank: 2)\n  exitcode  : -9 (pid: 1820)\n"
    assert [event.rank for event in events(failed)] == [None]
    assert [event.rank for event in events(failed + summary)] == [18]
