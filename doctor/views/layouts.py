"""Layouts that a search found, and settings by hand, in words: each as a line and what it costs."""

from __future__ import annotations

from doctor.messages import say
from doctor.planner.assess import Assessment
from doctor.planner.job import Recompute
from doctor.planner.knobs import as_word
from doctor.session.layouts import Layout, Layouts
from doctor.session.plan import Planned
from doctor.views import plan_words as words


def name(option: Layout, lang: str) -> str:
    """`TP 4  PP 2  DP 1  micro-batch 1 × 256`, and what is recomputed."""
    job = option.job.job
    told = say(lang, "plan.layout", degrees=words.degrees(job), micro=job.micro_batch, m=job.micro_batches)
    return told if job.recompute is Recompute.NONE else say(lang, "list.and").join([told, words.recompute(job, lang)])


def cost(job: Assessment, lang: str) -> str:
    """Memory of the fullest GPU with its range, step time with its range, bubble, and whether it fits."""
    fullest = job.fullest
    parts = [
        say(
            lang, "layouts.memory", likely=words.gib(fullest.device), low=words.gib(fullest.low),
            high=words.gib(fullest.high),
        )
    ]  # fmt: skip
    if job.time:
        time = job.time
        parts.append(
            say(
                lang, "layouts.time", likely=words.seconds(time.likely), low=words.seconds(time.low),
                high=words.seconds(time.high),
            )
        )  # fmt: skip
    if job.job.layout.pp > 1:
        parts.append(say(lang, "layouts.bubble", share=words.share(job.bubble)))
    if job.fits is not True:
        parts.append(say(lang, "plan.over" if job.fits is False else "plan.perhaps"))
    return " · ".join(parts)


def summary(found: Layouts, lang: str) -> str:
    """What the search came to, in a sentence or two."""
    if found.missing:
        names = ", ".join(name.removeprefix("config.") for name in found.missing)
        told = say(lang, "layouts.problem", why=say(lang, "missing.why", names=names))
        return told + (say(lang, "layouts.gpu", example="gpu=H100") if "config.gpu_model" in found.missing else "")
    if found.problem:
        return say(lang, "layouts.problem", why=found.problem)
    if not found.options:
        return say(lang, "layouts.none", considered=found.considered)
    parts = [say(lang, "layouts.found", layouts=found.layouts, considered=found.considered, certain=found.certain)]
    if found.stopped:
        parts.append(say(lang, "layouts.stopped"))
    if found.like:
        parts.append(say(lang, "layouts.like", gpu=found.like, example="gpu=H100"))
    return (" " if lang == "en" else "").join(parts)


def settings(option: Layout) -> str:
    """The settings that make the layout, as they can be written by hand."""
    return " ".join(f"{key}={as_word(value)}" for key, value in option.settings.items() if value is not None)


def fits(planned: Planned | None) -> bool | None:
    """Does the job fit as it is planned now? None where it may; True where that is not known, and where no remedy has
    to do with it: a job that ran is not told that it does not fit."""
    if planned is None or planned.before is None or not (planned.plan or planned.effects):
        return True
    return (planned.plan.effect.after if planned.plan else planned.before).fits
