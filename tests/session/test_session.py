"""What a person chooses on the way is kept as values, and computed at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.session.analyze import read_paths
from doctor.session.answers import Answers
from doctor.session.session import (
    Session,
    begin,
    chosen,
    in_words,
    laid_out,
    search_layouts,
    tuned,
    untuned,
    with_layouts,
)
from doctor.views.fix import fix_of
from tests.session.test_plan import FLAGS, OOM


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "train.sh").write_text(FLAGS)
    return begin(read_paths([tmp_path], load_rulebase(())), Answers())


def fits(session: Session) -> bool | None:
    assert session.planned and session.planned.plan
    return session.planned.plan.effect.after.fits


def test_the_report_and_the_session_have_one_diff(session: Session) -> None:
    assert session.edits is session.report.edits
    assert session.edits and "+++ b/train.sh" in session.edits.patch
    assert chosen(session, session.taken).edits == session.edits
    dropped = chosen(session, ())
    assert dropped.edits is None or dropped.edits.patch == ""
    assert fix_of(dropped, "en").text == ""


def test_a_setting_by_hand_is_computed_and_written_beside_the_remedies(session: Session) -> None:
    after = tuned(session, "tp=4, recompute=full")
    assert after.refused is None and fits(after) is True
    assert after.edits and "--tensor-model-parallel-size 4" in after.edits.patch
    assert "--recompute-granularity full" in after.edits.patch
    assert untuned(after).edits == session.edits
    assert tuned(after, "tp=2").own.keys() == {"recompute"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("tp=3", "tp 3"), ("tp=x", "right would be"), ("pt=4", "no setting"), ("tp", "NAME=VALUE"), ("pp=3", "right would be"),
        ("gpu=toaster", "toaster"),
    ],
)  # fmt: skip
def test_a_setting_that_the_job_would_not_start_with_is_refused_with_the_reason(
    session: Session, words: str, why: str
) -> None:
    after = tuned(session, words)
    assert after.refused and why in after.refused.en
    assert (after.own, after.planned, after.edits) == (session.own, session.planned, session.edits)


def test_own_settings_win_over_a_remedy_and_that_is_named(session: Session) -> None:
    after = tuned(session, "micro_batch=1")
    assert after.planned and after.planned.plan
    assert [each.against for each in after.planned.plan.rejected] == ["own"]
    assert after.edits and "--micro-batch-size 1" in after.edits.patch


def test_layouts_are_found_and_one_is_taken(session: Session) -> None:
    told: list[int] = []
    after = with_layouts(session, search_layouts(session, lambda considered: told.append(considered) is None))
    found = after.layouts
    assert found and found.options and told and not found.stopped
    assert found.like  # which GPU it is was not told: no times
    assert all(option.job.time is None for option in found.options)
    taken = laid_out(after, 0)
    assert taken.own == found.options[0].settings
    assert taken.planned and taken.planned.plan and taken.planned.plan.effect.after.job == found.options[0].job.job
    assert taken.edits and taken.edits.patch
    assert laid_out(taken, 0).own == {}


def test_the_gpu_that_a_person_names_gives_times(session: Session) -> None:
    named = tuned(session, "gpu=H100")
    after = with_layouts(named, search_layouts(named))
    assert after.planned and after.planned.before and after.planned.before.time
    assert after.layouts and not after.layouts.like
    assert all(option.job.time for option in after.layouts.options)


def test_a_search_ends_when_its_time_is_up(session: Session) -> None:
    found = search_layouts(session, seconds=0.0)
    assert found.stopped or found.problem


def test_what_is_missing_for_a_layout_is_named(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "train.sh").write_text(FLAGS.replace("--num-layers 32 --hidden-size 4096 ", ""))
    bare = begin(read_paths([tmp_path], load_rulebase(())), Answers())
    found = search_layouts(bare)
    assert not found.options and found.missing
    assert tuned(bare, "tp=4").refused


def test_answers_keep_what_was_chosen(session: Session) -> None:
    from doctor.session.session import answered

    question = next(step.asks for step in session.report.diagnosis.next_steps if step.asks)
    key = session.report.rulebase.questions[question].answers[0].key
    after = answered(tuned(session, "tp=4"), question, key)
    assert after.own == {"tp": 4}
    assert after.edits and "--tensor-model-parallel-size 4" in after.edits.patch


def test_settings_are_written_down_and_read_again(session: Session) -> None:
    after = tuned(session, "gpu=H100 tp=4 recompute_modules=mlp sp=false")
    assert after.refused is None and "recompute_modules=mlp" in in_words(after)
    again = tuned(session, in_words(after))
    assert (again.own, again.given, again.edits) == (after.own, after.given, after.edits)
