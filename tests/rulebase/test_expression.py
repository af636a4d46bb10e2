"""The language of conditions: types and units are checked when read, unknown stays unknown when evaluated."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.engine.situation import Situation
from doctor.facts.model import Event, Fact, FactSpec, Scope, Source
from doctor.facts.store import FactStore
from doctor.rulebase.errors import RuleError
from doctor.rulebase.expression import Names, check, evaluate, fact_names, parse, reads

SPECS = [
    FactSpec("config.tp", "int", "1", Scope.JOB, "tensor-parallel size"),
    FactSpec("config.pp", "int", "1", Scope.JOB, "pipeline-parallel size"),
    FactSpec("config.model", "str", "1", Scope.JOB, "name of the model"),
    FactSpec("config.lora", "bool", "1", Scope.JOB, "trains adapters only"),
    FactSpec("gpu.memory_total", "int", "B", Scope.GPU, "memory of the card"),
    FactSpec("gpu.memory_used", "int", "B", Scope.GPU, "memory in use"),
    FactSpec("env.*", "str", "1", Scope.JOB, "environment variable"),
    FactSpec("run.step_time", "float", "s", Scope.RUN, "seconds a step"),
]
NAMES = Names({spec.name: spec for spec in SPECS}, {"torch.cuda_oom": None})


def value(text: str, *facts: Fact, events: tuple[Event, ...] = ()) -> object:
    return evaluate(text, Situation(FactStore(facts, events), {}).lookup("job")).value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("config.tpp > 8", "unknown fact config.tpp, did you mean config.tp?"),
        ("gpu.memory_used > 20", "units differ"),
        ("run.step_time > 20*GiB", "s against B"),
        ("config.tp == 'eight'", "cannot compare config.tp (number) with 'eight' (str)"),
        ("config.model + 1 == 2", "arithmetic needs numbers"),
        ("not config.tp", "a bool is needed"),
        ("seen('torch.cuda_om')", "did you mean torch.cuda_oom?"),
        ("contians(config.model, 'x')", "did you mean contains?"),
        ("config.tp >", "cannot read expression"),
        ("[x for x in config.tp]", "not part of conditions"),
        ("__import__('os').system('true')", "is not a function of conditions"),
        ("(lambda: 1)()", "not part of conditions"),
        ("config.model.__class__ == 'x'", "unknown fact config.model.__class__"),
    ],
)
def test_a_mistake_is_named_when_the_rule_is_read(text: str, complaint: str) -> None:
    with pytest.raises(RuleError) as caught:
        check(text, NAMES)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "gpu.memory_used > 20*GiB",
        "gpu.memory_used / gpu.memory_total > 0.9",
        "gpu.memory_used > 0",
        "env.NCCL_P2P_DISABLE == '1'",
        "1 < config.tp <= 8 and config.lora",
        "config.tp in [1, 2, 4]",
        "version(config.model) < version('2.3')",
        "count(gpu, gpu.memory_used > 0) >= 2",
        "count('torch.cuda_oom') > 3 or seen('torch.cuda_oom')",
        "max(gpu, gpu.memory_used) > 2*GiB",
    ],
)
def test_a_sound_condition_passes(text: str) -> None:
    assert check(text, NAMES).type == "bool"


def test_unknown_facts_make_unknown_results_and_are_named() -> None:
    evaluation = evaluate("config.tp > 8", Situation(FactStore(), {}).lookup("job"))
    assert evaluation.value is None
    assert evaluation.missing == ("config.tp",)


def test_a_deciding_operand_wins_over_an_unknown_one() -> None:
    assert value("config.tp > 8 or config.pp > 8", Fact("config.pp", 16)) is True
    assert value("config.tp > 8 and config.pp > 8", Fact("config.pp", 4)) is False
    assert value("config.tp > 8 and config.pp > 8", Fact("config.pp", 16)) is None


def test_division_by_zero_is_unknown() -> None:
    assert value("config.tp % config.pp == 0", Fact("config.tp", 8), Fact("config.pp", 0)) is None


def test_quantifiers_look_at_every_inner_entity() -> None:
    cards = [Fact("gpu.memory_used", used, f"gpu:n1/{index}") for index, used in enumerate((10, 30, 50))]
    assert value("count(gpu, gpu.memory_used > 20)", *cards) == 2
    assert value("any(gpu, gpu.memory_used > 40)", *cards) is True
    assert value("all(gpu, gpu.memory_used > 20)", *cards) is False
    assert value("max(gpu, gpu.memory_used)", *cards) == 50


def test_versions_compare_by_number_not_by_text() -> None:
    assert value("version(config.model) > version('2.9')", Fact("config.model", "2.10.1+cu128")) is True


def test_absence_of_an_event_is_unknown_without_logs_and_known_with_them() -> None:
    other = Event("torchrun.start", Source("log", "a.log", 1))
    assert value("seen('torch.cuda_oom')") is None
    assert value("seen('torch.cuda_oom')", events=(other,)) is False


def test_names_of_an_expression_leave_out_functions_and_units() -> None:
    assert fact_names("any(gpu, gpu.power > 3) or config.tp > 2*GiB and len(config.model) > 1") == (
        "config.tp",
        "config.model",
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("config.tp > 2*GiB and matches(config.model, 'x')", ("config.tp", "config.model")),
        ("rank > 0 or known('log.files') or fact('log.bytes') > 1", ("rank", "log.bytes", "log.files")),
        ("config.tp > 1 and any(gpu, gpu.power > 3)", None),
        ("config.tp > 1 and seen('torch.cuda_oom')", None),
        ("distinct(gpu.name) > 1", None),
    ],
)
def test_what_decides_an_expression_is_known_unless_it_looks_around(text: str, names: tuple[str, ...] | None) -> None:
    assert reads(text) == names


@given(st.text(max_size=60))
def test_no_text_makes_reading_an_expression_fail_otherwise_than_with_a_rule_error(text: str) -> None:
    with suppress(RuleError):
        parse(text)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_comparisons_are_those_of_python(left: int, right: int) -> None:
    facts = (Fact("config.tp", left), Fact("config.pp", right))
    assert value("config.tp <= config.pp", *facts) is (left <= right)


def test_a_backslash_stands_for_itself_as_regular_expressions_need_it() -> None:
    assert value(r"matches(config.model, 'tp\d+\b')", Fact("config.model", "run tp16 a")) is True
    assert value(r"matches(config.model, '\[x\]')", Fact("config.model", "a [x]")) is True


def used(text: str, *facts: Fact) -> set[str]:
    found = evaluate(text, Situation(FactStore(facts, ()), {}).lookup("job"))
    return {fact.entity for fact in found.used}


def test_what_holds_somewhere_is_proven_by_the_places_where_it_does() -> None:
    cards = [Fact("gpu.memory_used", used, f"gpu:n1/{index}") for index, used in enumerate((10, 50, 30))]
    total = Fact("config.tp", 8, "job")
    assert used("any(gpu, gpu.memory_used > 40)", *cards) == {"gpu:n1/1"}
    assert used("config.tp > 2 and any(gpu, gpu.memory_used > 20)", total, *cards) == {"job", "gpu:n1/1", "gpu:n1/2"}
    assert used("not any(gpu, gpu.memory_used > 90)", *cards) == {"gpu:n1/0", "gpu:n1/1", "gpu:n1/2"}


def test_a_condition_over_inner_entities_tells_where_it_holds() -> None:
    cards = [Fact("gpu.memory_used", used, f"gpu:n1/{index}") for index, used in enumerate((10, 50, 30))]
    lookup = Situation(FactStore(cards, ()), {}).lookup("job")
    assert evaluate("any(gpu, gpu.memory_used > 20)", lookup).places == ("gpu:n1/1", "gpu:n1/2")
    assert evaluate("any(gpu, gpu.memory_used > 90)", lookup).places == ()
    assert evaluate("any(gpu, gpu.memory_used > 40) and not any(gpu, gpu.memory_used > 90)", lookup).places == (
        "gpu:n1/1",
    )
    assert evaluate("not (any(gpu, gpu.memory_used > 40) and 1 > 2)", lookup).places == ()
