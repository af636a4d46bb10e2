"""A diagnosis that a person walks through: what was read, what they answered, what they chose to change.

A session is a value: every act gives a new one, so that going back loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from doctor.engine.model import Finding
from doctor.rulebase.model import Remedy, Text
from doctor.session.analyze import Material, edits_of, judge
from doctor.session.answers import Answers, add_answers
from doctor.session.asked import cures
from doctor.session.report import Report

if TYPE_CHECKING:
    from doctor.session.edits import Edits
    from doctor.session.layouts import Layouts
    from doctor.session.plan import Planned

GPU = "gpu="


@dataclass(frozen=True, slots=True)
class Session:
    """`chosen` are remedies as `RULE:remedy`, None while the person leaves the choice to pdoctor; `own` settings of the
    job by neutral names, by hand or of a layout that was taken; `given` what they said of the job beside, by names of
    doctor.planner.from_facts; `past` the sessions before each answer, latest last.

    `planned` is the plan of what was chosen and `edits` that plan as changes of the files; `layouts` what a search for
    others found; `refused` why the last setting by hand was not taken."""

    material: Material
    answers: Answers
    report: Report
    chosen: tuple[str, ...] | None = None
    planned: Planned | None = None
    past: tuple[Session, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    edits: Edits | None = None
    layouts: Layouts | None = None
    refused: Text | None = None

    @property
    def taken(self) -> tuple[str, ...]:
        """The remedies that count: the chosen ones, else those that pdoctor suggests."""
        return self.report.taken if self.chosen is None else self.chosen


def begin(material: Material, answers: Answers) -> Session:
    """Judges what was read and what is known already."""
    report = judge(material, answers)
    return Session(material, answers, report, None, report.planned, edits=report.edits)


def reported(session: Session) -> Report:
    """The report with the plan that the person chose in the place of pdoctor's own."""
    return replace(session.report, taken=session.taken, planned=session.planned, edits=session.edits)


def answered(session: Session, question: str, key: str) -> Session:
    """The session after one answer; raises InputError where the question or the key is not known."""
    told = add_answers(session.answers, [f"{question}={key}"], session.report.rulebase.questions)
    return _anew(session, session.material, told)


def undone(session: Session) -> Session:
    """The session before the last answer, with all that was read since; the same where there was none."""
    if not session.past or session.past[-1].material is session.material:
        return session.past[-1] if session.past else session
    before = session.past[-1]
    return replace(_anew(before, session.material, before.answers), past=before.past)


def with_material(session: Session, material: Material) -> Session:
    """The session when more was read; answers and choices stay."""
    return replace(_anew(session, material, session.answers), past=session.past)


def chosen(session: Session, names: Iterable[str]) -> Session:
    """The session with these remedies, in the order of the roots; those that the report does not hold are left out."""
    wanted = set(names)
    kept = tuple(name for name, _, _ in remedies(session.report) if name in wanted)
    return _composed(replace(session, chosen=kept, refused=None))


def tuned(session: Session, words: str) -> Session:
    """The session with settings by hand, such as `tp=4 micro_batch=2`, beside those that were set before; `gpu=H100`
    says which GPU the job runs on. Where the job would not start with them `refused` says why, and nothing changes."""
    from doctor.planner.errors import PlanError
    from doctor.planner.knobs import assignments

    pairs = words.replace(",", " ").split()
    gpus = [word.removeprefix(GPU) for word in pairs if word.startswith(GPU)]
    try:
        new = assignments(word for word in pairs if not word.startswith(GPU))
        if gpus:
            session = _told(session, {"gpu_model": gpus[-1]})
        return _with_own(session, {**session.own, **new}) if new else replace(session, refused=None)
    except PlanError as error:
        return replace(session, refused=error.text)


def in_words(session: Session) -> str:
    """The settings by hand and the GPU as `tuned` takes them."""
    from doctor.planner.knobs import as_word

    gpu = session.given.get("gpu_model")
    words = [f"{name}={as_word(value)}" for name, value in session.own.items() if value is not None]
    return " ".join([*([GPU + gpu] if gpu else []), *words])


def laid_out(session: Session, number: int) -> Session:
    """The session with a layout that the search found; taken once more it is dropped."""
    options = session.layouts.options if session.layouts else ()
    if not 0 <= number < len(options):
        return session
    option = options[number]
    if dict(option.settings) == dict(session.own):
        return untuned(session)
    from doctor.planner.errors import PlanError

    try:
        return _with_own(session, option.settings)
    except PlanError as error:
        return replace(session, refused=error.text)


def untuned(session: Session) -> Session:
    """The session without settings by hand and without a layout."""
    return _composed(replace(session, own={}, refused=None))


def planned_as_is(session: Session) -> Planned:
    """What the planner understands of the job, also where no remedy sets anything."""
    from doctor.session.plan import as_it_is

    return session.planned or as_it_is(session.report.store, **session.given)


def search_layouts(
    session: Session, told: Callable[[int], bool] | None = None, seconds: float | None = None
) -> Layouts:
    """Other layouts for the session's job; takes up to a few seconds. `told` hears how many were considered, and ends
    the search by giving False."""
    from doctor.planner.search import VARIED
    from doctor.session import layouts
    from doctor.session.plan import measured

    planned = planned_as_is(session)
    job = planned.understood.job
    if job is None or planned.before is None:
        return layouts.Layouts(problem=planned.understood.problem, missing=planned.understood.missing)
    held = {name: value for name, value in session.own.items() if name not in VARIED}
    return layouts.find_layouts(
        job, planned.understood.framework, held, told, measured(session.report.store, job),
        layouts.SECONDS if seconds is None else seconds,
    )  # fmt: skip


def with_layouts(session: Session, found: Layouts) -> Session:
    """The session with what a search found, to take one of them."""
    return replace(session, layouts=found)


def remedies(report: Report) -> Iterator[tuple[str, Remedy, Finding]]:
    """Every remedy of every root that can be taken, as (`RULE:remedy`, remedy, root)."""
    return cures(report.diagnosis)


def _anew(session: Session, material: Material, told: Answers) -> Session:
    report = judge(material, told)
    after = Session(
        material, told, report, None, report.planned, (*session.past, session), session.own, session.given, report.edits
    )
    if session.chosen is not None:
        return chosen(after, session.chosen)
    return _composed(after) if session.own or session.given else after


def _told(session: Session, given: Mapping[str, str]) -> Session:
    """The session with something more known of the job. Raises PlanError where it makes no job."""
    from doctor.planner.errors import PlanError
    from doctor.session.plan import as_it_is

    whole = {**session.given, **given}
    base = as_it_is(session.report.store, **whole)
    if base.understood.problem:
        raise PlanError(base.understood.problem)
    return _composed(replace(session, given=whole, layouts=None, refused=None))


def _with_own(session: Session, own: Mapping[str, Any]) -> Session:
    """The session with these settings, without those that the job has already. Raises PlanError."""
    from doctor.planner.effect import effect
    from doctor.planner.errors import PlanError, reason
    from doctor.planner.knobs import apply, difference

    planned = planned_as_is(session)
    job = planned.understood.job
    if job is None or planned.before is None:
        missing = ", ".join(name.removeprefix("config.") for name in planned.understood.missing)
        raise PlanError(planned.understood.problem or reason("reason.untold", names=missing))
    changed = difference(job, apply(job, own))
    kept = {name: value for name, value in own.items() if name in changed or name == "dp"}
    effect(job, kept, planned.before)
    return _composed(replace(session, own=kept, refused=None))


def _composed(session: Session) -> Session:
    """The session with the plan and the changes of what was chosen."""
    planned = _planned(session)
    report = session.report
    edits = edits_of(session.taken, session.material, report.diagnosis, report.store, report.patched, planned)
    return replace(session, planned=planned, edits=edits)


def _planned(session: Session) -> Planned | None:
    report = session.report
    base = report.planned
    if session.given or (base is None and session.own):
        from doctor.session.plan import again

        base = again(report.diagnosis, report.store, report.patched, **session.given)
    if base is None or base.before is None:
        return base
    from doctor.session.plan import planned_with

    return planned_with(base, session.taken, report.store, report.patched, session.own)
