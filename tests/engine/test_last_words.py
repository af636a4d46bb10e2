"""What logs tell of exceptions that ended a job, and of those that a program caught or that a restart hid."""

import pytest

from doctor.engine.model import Verdict
from doctor.rulebase.load import load_rulebase
from doctor.rulebase.model import RuleBase
from studies.robustness import diagnosed
from tests.robustness.edits import Files

LONE = "ImportError: quickmath is not installed, the slower kernel is used\n"
FAILED = """Traceback (most recent call last):
  File "/work/pretrain.py", line 71, in {outermost}
    loop(model)
  File "/work/pretrain.py", line 40, in loop
    check(batch)
ValueError: the batch has no labels
"""
END = "{'train_runtime': 81.5, 'train_samples_per_second': 9.0, 'train_steps_per_second': 1.0, 'train_loss': 1.1}\n"


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rulebase().base


def steps(first: int, last: int, label: str = "") -> str:
    return "".join(f"{label}step {step} loss {3 - step * 0.01:.3f}\n" for step in range(first, last + 1))


def bars(first: int, last: int) -> str:
    return "".join(
        f" {step}%|#    | {step}/100 [00:{step:02d}<01:00,  1.00it/s, loss=1.5]\n" for step in range(first, last + 1)
    )


def verdict(text: str, base: RuleBase) -> Verdict:
    return diagnosed(Files({"job.log": text}), base).diagnosis.verdict


@pytest.mark.parametrize(
    "text",
    [
        LONE + steps(1, 40),
        steps(1, 20) + LONE + steps(21, 40),
        LONE + bars(1, 50),
        steps(1, 40) + END + "ConnectionError: usage could not be reported\n",
        steps(1, 20, "[rank0]: ") + "[rank0]: " + LONE + steps(21, 21, "[rank0]: "),
        steps(1, 20) + FAILED.format(outermost="main") + steps(21, 40),
    ],
    ids=["at the start", "between steps", "before bars", "after the end", "of one rank", "with frames"],
)
def test_an_exception_after_which_the_job_went_on_or_was_done_is_no_failure(text: str, base: RuleBase) -> None:
    assert verdict(text, base) is Verdict.HEALTHY


@pytest.mark.parametrize(
    "text",
    [
        steps(1, 40) + LONE,
        bars(1, 50) + LONE + bars(51, 51),
        steps(1, 20, "[rank0]: ") + steps(1, 19, "[rank1]: ") + "[rank1]: " + LONE + steps(21, 22, "[rank0]: "),
        steps(1, 20) + FAILED.format(outermost="main") + steps(21, 22),
        steps(1, 40) + END + FAILED.format(outermost="main"),
    ],
    ids=[
        "last words",
        "a bar drawn once more",
        "another rank went on",
        "two steps on their way",
        "with frames after the end",
    ],
)
def test_the_last_words_of_a_rank_are_one(text: str, base: RuleBase) -> None:
    assert verdict(text, base) is not Verdict.HEALTHY


@pytest.mark.parametrize("outermost", ["main", "<module>"])
def test_a_job_that_is_started_over_and_over_is_not_healthy(outermost: str, base: RuleBase) -> None:
    crash = steps(1, 8) + FAILED.format(outermost=outermost) + "next attempt in 10 s\n"
    assert verdict(crash * 5 + steps(1, 4), base) is not Verdict.HEALTHY


def test_what_left_the_program_is_no_caught_exception_though_later_output_follows(base: RuleBase) -> None:
    assert verdict(FAILED.format(outermost="<module>") + steps(1, 40), base) is not Verdict.HEALTHY
