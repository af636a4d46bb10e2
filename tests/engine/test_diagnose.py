"""The reasoning: belief, folding of consequences, rivals, absence, verdicts."""

from pathlib import Path

from doctor.engine import diagnose
from doctor.engine.model import Label, Role, Verdict
from doctor.facts.model import Event, Fact, Source
from tests.support import event, rule_text, rulebase, store

OOM_RULE = rule_text()
TIMEOUT_RULE = rule_text(
    "T002",
    "long-rank0-work-timeout",
    body="""
    signals: {timeout: {event: torch.watchdog_timeout, seen: {if_cause: always, otherwise: rarely}}}
    condition: {all: [timeout]}
    """,
)
OOM_EXPLAINS_TIMEOUT = rule_text(
    body="""
    signals: {oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: rarely}}}
    condition: {all: [oom]}
    explains: [{event: torch.watchdog_timeout}]
    """
)


def roles(diagnosis: object) -> dict[str, Role]:
    return {finding.rule.id: finding.role for finding in diagnosis.findings}  # type: ignore[attr-defined]


def test_a_symptom_with_one_rule_has_one_root(tmp_path: Path) -> None:
    diagnosis = diagnose(store(event("torch.cuda_oom", rank=3)), rulebase(tmp_path, OOM_RULE))
    (finding,) = diagnosis.findings
    assert (finding.role, finding.entities, diagnosis.verdict) == (Role.ROOT, ("rank:3",), Verdict.PROBLEM)
    assert finding.sources[0].line == 1


def test_nothing_wrong_is_healthy_and_nothing_known_is_undetermined(tmp_path: Path) -> None:
    base = rulebase(tmp_path, OOM_RULE)
    assert diagnose(store(event("megatron.iteration", step=5)), base).verdict is Verdict.HEALTHY
    assert diagnose(store(), base).verdict is Verdict.UNDETERMINED


def test_a_failure_without_a_rule_is_undetermined_and_shown(tmp_path: Path) -> None:
    diagnosis = diagnose(store(event("torch.watchdog_timeout", rank=1)), rulebase(tmp_path, OOM_RULE))
    assert diagnosis.verdict is Verdict.UNDETERMINED
    assert [left.name for left in diagnosis.unexplained] == ["torch.watchdog_timeout"]


def test_a_peer_that_ended_is_no_healthy_job_unless_the_job_goes_on(tmp_path: Path) -> None:
    base = rulebase(tmp_path, OOM_RULE)
    step, closed = event("megatron.iteration", 1, step=5), event("nccl.peer_closed", 2)
    assert diagnose(store(step, closed), base).verdict is Verdict.UNDETERMINED
    restarted = event("megatron.iteration", 3, step=6)
    assert diagnose(store(step, closed, restarted), base).verdict is Verdict.HEALTHY


def test_the_head_of_an_exception_of_nccl_follows_from_what_it_ends_with(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        signals: {oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: rarely}}}
        condition: {all: [oom]}
        explains: [{event: nccl.error}]
        """
    )
    base = rulebase(tmp_path, text)
    assert not diagnose(store(event("nccl.error", 2), event("torch.cuda_oom", 5)), base).unexplained
    assert diagnose(store(event("nccl.error", 2), event("torch.cuda_oom", 90)), base).unexplained


def test_a_log_of_consequences_alone_is_not_called_healthy(tmp_path: Path) -> None:
    base = rulebase(tmp_path, OOM_RULE)
    gone = event("torch.store_broken", 2, rank=7)
    assert diagnose(store(gone, last_line(60)), base).verdict is Verdict.UNDETERMINED
    assert diagnose(store(event("megatron.iteration", 1, step=5), gone, last_line(60)), base).verdict is Verdict.HEALTHY


def test_output_that_was_on_its_way_does_not_outlive_a_failure(tmp_path: Path) -> None:
    base = rulebase(tmp_path, OOM_RULE)
    closed = event("nccl.peer_closed", 2, rank=1)
    late = [event("megatron.iteration", line, step=7 + line // 5, rank=1) for line in (3, 4, 5)]
    assert diagnose(store(closed, *late), base).verdict is Verdict.UNDETERMINED
    others = [event("megatron.iteration", line, step=line, rank=0) for line in range(6, 12)]
    assert diagnose(store(closed, *late, *others), base).verdict is Verdict.UNDETERMINED
    on = [event("megatron.iteration", line, step=line, rank=1) for line in (20, 21, 22)]
    assert diagnose(store(closed, *late, *on), base).verdict is Verdict.HEALTHY


def test_what_follows_from_a_cause_folds_under_it(tmp_path: Path) -> None:
    base = rulebase(tmp_path, OOM_EXPLAINS_TIMEOUT, TIMEOUT_RULE)
    seen = store(
        event("torch.cuda_oom", 1, rank=3, path="rank3.log", time=100),
        event("torch.watchdog_timeout", 9, rank=0, path="rank0.log", time=700),
        event("nccl.peer_closed", 10, rank=0, path="rank0.log", time=701),
    )
    diagnosis = diagnose(seen, base)
    assert roles(diagnosis) == {"T001": Role.ROOT, "T002": Role.CONSEQUENCE}
    root, consequence = diagnosis.findings
    assert consequence.explained_by == "T001"
    assert [(f.event, f.ranks, f.lag) for f in root.follows] == [
        ("torch.watchdog_timeout", (0,), 600.0),
        ("nccl.peer_closed", (0,), 601.0),
    ]


def test_what_came_before_a_cause_in_the_same_log_does_not_follow_from_it(tmp_path: Path) -> None:
    base = rulebase(tmp_path, OOM_EXPLAINS_TIMEOUT, TIMEOUT_RULE)
    diagnosis = diagnose(store(event("torch.watchdog_timeout", 1), event("torch.cuda_oom", 2)), base)
    assert roles(diagnosis) == {"T001": Role.ROOT, "T002": Role.ROOT}


def test_rivals_for_one_symptom_compete_and_cost_each_other_belief(tmp_path: Path) -> None:
    weaker = rule_text("T003", "model-states-exceed-capacity", prior="uncommon")
    alone = diagnose(store(event("torch.cuda_oom")), rulebase(tmp_path / "a", OOM_RULE)).roots[0]
    diagnosis = diagnose(store(event("torch.cuda_oom")), rulebase(tmp_path / "b", OOM_RULE, weaker))
    assert roles(diagnosis) == {"T001": Role.ROOT, "T003": Role.CONTRIBUTING}
    winner = diagnosis.roots[0]
    assert winner.rivals == ("T003",)
    assert winner.belief < alone.belief
    loser = next(finding for finding in diagnosis.findings if finding.rule.id == "T003")
    assert loser.belief < winner.belief
    assert loser.belief + winner.belief < 1


def test_a_rival_is_never_believed_more_than_the_one_that_it_lost_to(tmp_path: Path) -> None:
    """Also where they are so many that none is more likely than not."""
    others = [rule_text(f"T00{n}", cause) for n, cause in ((3, "model-states-exceed-capacity"), (4, "memory-leak"))]
    diagnosis = diagnose(store(event("torch.cuda_oom")), rulebase(tmp_path, OOM_RULE, *others))
    winner, *losers = diagnosis.findings
    assert len(losers) == 2
    assert winner.belief < 0.5
    assert all(loser.belief <= winner.belief for loser in losers)
    assert winner.belief + sum(loser.belief for loser in losers) < 1


def test_an_unknown_condition_is_never_more_than_possible(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        signals:
          oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: never}}
          wide: {when: config.tp > 8}
        condition: {all: [oom, wide]}
        """
    )
    base = rulebase(tmp_path, text)
    open_question = diagnose(store(event("torch.cuda_oom")), base).findings[0]
    assert open_question.label is Label.POSSIBLE and open_question.belief < 0.5
    answered = diagnose(store(event("torch.cuda_oom"), Fact("config.tp", 16)), base).findings[0]
    assert answered.label is not Label.POSSIBLE
    assert not diagnose(store(event("torch.cuda_oom"), Fact("config.tp", 4)), base).findings


def test_an_absent_signal_lowers_belief_less_than_a_contrary_one_would(tmp_path: Path) -> None:
    def text(second: str) -> str:
        return rule_text(
            body=f"""
            signals:
              oom: {{event: torch.cuda_oom, seen: {{if_cause: always, otherwise: rarely}}}}
              second: {{{second}, seen: {{if_cause: usually, otherwise: rarely}}}}
            condition: {{all: [oom]}}
            """
        )

    seen = store(event("torch.cuda_oom"), Fact("config.tp", 1))
    absent_line = diagnose(seen, rulebase(tmp_path / "a", text("event: nccl.peer_closed"))).findings[0]
    known_false = diagnose(seen, rulebase(tmp_path / "b", text("when: config.tp > 8"))).findings[0]
    assert absent_line.belief > known_false.belief


def test_a_condition_over_nodes_names_the_node_it_holds_on(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        signals: {small: {when: node.shm_total < 100*MiB, seen: {if_cause: always, otherwise: never}}}
        condition: {all: [small]}
        """
    )
    seen = store(Fact("node.shm_total", 64 << 20, "node:n1"), Fact("node.shm_total", 64 << 30, "node:n2"))
    assert diagnose(seen, rulebase(tmp_path, text)).findings[0].entities == ("node:n1",)


def test_a_condition_that_some_node_meets_names_that_node(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        signals:
          small: {when: "any(node, node.shm_total < 100*MiB)", seen: {if_cause: always, otherwise: never}}
          large: {when: "any(node, node.shm_total > 200*GiB)"}
        condition: {all: [small], none: [large]}
        """
    )
    seen = store(Fact("node.shm_total", 64 << 20, "node:n1"), Fact("node.shm_total", 64 << 30, "node:n2"))
    assert diagnose(seen, rulebase(tmp_path, text)).findings[0].entities == ("node:n1",)


def test_a_rule_of_rank_scope_needs_its_signals_on_one_rank(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        scope: rank
        signals:
          oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: never}}
          late: {event: torch.watchdog_timeout, seen: {if_cause: always, otherwise: never}}
        condition: {all: [oom, late]}
        """
    )
    base = rulebase(tmp_path, text)
    apart = store(event("torch.cuda_oom", rank=0), event("torch.watchdog_timeout", rank=1))
    together = store(event("torch.cuda_oom", rank=2), event("torch.watchdog_timeout", rank=2))
    assert not diagnose(apart, base).findings
    assert diagnose(together, base).findings[0].entities == ("rank:2",)


def test_a_risk_beside_a_failure_is_no_root(tmp_path: Path) -> None:
    risk = rule_text(
        "T004",
        "cuda-max-connections",
        "risk",
        body="""
        signals: {wide: {when: config.tp > 8, seen: {if_cause: always, otherwise: never}}}
        condition: {all: [wide]}
        """,
    )
    base = rulebase(tmp_path, OOM_RULE, risk)
    assert roles(diagnose(store(event("torch.cuda_oom"), Fact("config.tp", 16)), base))["T004"] is Role.CONTRIBUTING
    alone = diagnose(store(event("megatron.iteration"), Fact("config.tp", 16)), base)
    assert (alone.verdict, roles(alone)["T004"]) == (Verdict.HEALTHY, Role.ROOT)


def test_the_same_input_gives_the_same_diagnosis(tmp_path: Path) -> None:
    base = rulebase(tmp_path, OOM_EXPLAINS_TIMEOUT, TIMEOUT_RULE)
    seen = store(event("torch.cuda_oom", 1, rank=3), event("torch.watchdog_timeout", 2, rank=0, path="b"))
    assert diagnose(seen, base).findings == diagnose(seen, base).findings


BEFORE = rule_text(
    body="""
    signals: {first: {event: torch.cuda_oom, before: torch.watchdog_timeout, seen: {if_cause: always, otherwise: rarely}}}
    condition: {all: [first]}
    """
)


def test_before_and_after_go_by_position_in_a_file_and_by_the_clock_between_files(tmp_path: Path) -> None:
    base = rulebase(tmp_path, BEFORE)

    def found(*seen: object) -> bool:
        findings = diagnose(store(*seen), base).findings  # type: ignore[arg-type]
        return any(finding.label is not Label.POSSIBLE or finding.belief > 0.5 for finding in findings)

    assert found(event("torch.cuda_oom", 1), event("torch.watchdog_timeout", 2))
    assert not found(event("torch.cuda_oom", 3), event("torch.watchdog_timeout", 2))
    assert found(event("torch.cuda_oom", 9, path="a", time=5), event("torch.watchdog_timeout", 2, path="b", time=5))
    assert not found(event("torch.cuda_oom", 9, path="a", time=8), event("torch.watchdog_timeout", 2, path="b", time=5))
    assert not found(event("torch.cuda_oom", 9, path="a"), event("torch.watchdog_timeout", 2, path="b", time=5))


def test_what_would_rule_a_cause_out_counts_only_when_it_is_known(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        signals:
          oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: never}}
          wide: {when: config.tp > 8}
        condition: {all: [oom], none: [wide]}
        """
    )
    base = rulebase(tmp_path, text)
    assert diagnose(store(event("torch.cuda_oom")), base).findings[0].label is not Label.POSSIBLE
    assert not diagnose(store(event("torch.cuda_oom"), Fact("config.tp", 16)), base).findings


def test_a_signal_beside_the_condition_alone_makes_no_finding(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        signals:
          oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: rarely}}
          wide: {when: config.tp > 8, seen: {if_cause: always, otherwise: never}}
        condition: {all: [oom]}
        """
    )
    assert not diagnose(store(Fact("config.tp", 16)), rulebase(tmp_path, text)).findings


def test_the_cause_is_where_it_was_seen_and_not_where_others_waited(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        signals:
          oom: {event: torch.cuda_oom, seen: {if_cause: always, otherwise: rarely}}
          waiting: {event: torch.watchdog_timeout, seen: {if_cause: often, otherwise: rarely}}
        condition: {all: [oom, waiting]}
        explains: [{event: torch.watchdog_timeout}]
        """
    )
    waits = [event("torch.watchdog_timeout", 5, rank=rank, path=f"rank{rank}.log") for rank in range(3)]
    diagnosis = diagnose(store(event("torch.cuda_oom", 1, rank=3, path="rank3.log"), *waits), rulebase(tmp_path, text))
    assert diagnosis.findings[0].entities == ("rank:3",)


def last_line(line: int) -> Event:
    return Event("log.last_line", Source("log", "job.log", line), order=line)


def test_a_log_that_ends_while_the_job_starts_is_not_called_healthy(tmp_path: Path) -> None:
    base = rulebase(tmp_path, OOM_RULE)
    starting = event("torch.launch", 4)
    assert diagnose(store(starting, last_line(5)), base).verdict is Verdict.UNDETERMINED
    assert diagnose(store(starting, last_line(500)), base).verdict is Verdict.HEALTHY
    assert diagnose(store(starting, event("megatron.iteration", 5), last_line(6)), base).verdict is Verdict.HEALTHY
    assert diagnose(store(last_line(2)), base).verdict is Verdict.UNDETERMINED


def test_a_cause_seen_only_by_what_it_explains_is_where_that_was_seen(tmp_path: Path) -> None:
    text = rule_text(
        body="""
        signals:
          waiting: {event: torch.watchdog_timeout, seen: {if_cause: always, otherwise: rarely}}
          idle: {when: job.idle > 0, seen: {if_cause: often, otherwise: rarely}}
        condition: {all: [waiting, idle]}
        explains: [{event: torch.watchdog_timeout}]
        """
    )
    seen = store(event("torch.watchdog_timeout", rank=5), Fact("job.idle", 1))
    assert diagnose(seen, rulebase(tmp_path, text)).findings[0].entities == ("rank:5",)
