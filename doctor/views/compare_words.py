"""Words and numbers of a comparison, for the text and the JSON alike."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.facts.model import Source
from doctor.messages import say
from doctor.session.compare import Change, Comparison, FindingChange, KernelChange
from doctor.session.noise import FEWEST, USUAL_NOISE, Judged

SYMBOLS = {"better": "✓", "worse": "✗", "same": "=", "incomparable": "?"}
GIB = 1 << 30
MOST_SOURCES = 2


def reasons(comparison: Comparison, lang: str) -> list[str]:
    """Why the verdict is what it is."""
    return [_filled(lang, key, values) for key, values in comparison.reasons]


def _filled(lang: str, key: str, values: object) -> str:
    known = dict(values) if isinstance(values, dict) else {}
    if "measure" in known:
        known["measure"] = say(lang, f"compare.measure.{known['measure']}")
    return say(lang, key, **{"fewest": FEWEST, **known})


def differences(comparison: Comparison, lang: str) -> list[str]:
    return [
        say(lang, "compare.condition", what=say(lang, f"compare.condition.{d.what}"), before=d.before, after=d.after)
        for d in comparison.differences
    ]


def measure(change: Change, lang: str) -> str:
    return say(lang, f"compare.measure.{change.measure.name}")


def state(judged: Judged, counts: tuple[int, int], noise: float, lang: str) -> str:
    before, after = counts
    return say(lang, f"compare.state.{judged.state}", noise=percent(noise, False), before=before, after=after)


def told(change: Change, lang: str) -> str:
    """Both medians, the difference with its interval, and what it comes to."""
    text = _difference(change.judged, change.measure.unit, lang)
    return say(lang, "compare.told", change=text, state=state(change.judged, change.counts, change.noise, lang))


def _difference(judged: Judged, unit: str, lang: str) -> str:
    relative = ""
    if judged.relative is not None:
        interval = ""
        if judged.low is not None and judged.high is not None:
            low, high = (percent(value / abs(judged.before)) for value in (judged.low, judged.high))
            interval = say(lang, "compare.interval", low=low, high=high)
        relative = say(lang, "compare.relative", percent=percent(judged.relative), interval=interval)
    before, after = amount(judged.before, unit), amount(judged.after, unit)
    return say(lang, "compare.change", before=before, after=after, relative=relative)


def kernel(change: KernelChange, shared: bool, lang: str) -> str:
    unit = "1" if shared else "s"
    name = change.name[:120]
    if change.judged is not None:
        told = _difference(change.judged, unit, lang)
        came = state(change.judged, change.counts, USUAL_NOISE, lang)
        return say(lang, "compare.kernel_told", name=name, change=told, state=came)
    before, after = amount(change.before, unit), amount(change.after, unit)
    text = say(lang, "compare.kernel", name=name, before=before, after=after)
    return text + (say(lang, "compare.at_most") if change.at_most else "")


def finding(change: FindingChange, lang: str) -> str:
    found = change.finding
    why = say(lang, f"compare.why.{change.why}") if change.why else ""
    place = f" [{found.where}]" if found.where else ""
    label = say(lang, f"compare.finding.{change.state}")
    return say(lang, "compare.finding", state=label, rule=found.rule, title=found.title, why=why, place=place)


def notes(comparison: Comparison, lang: str) -> list[str]:
    found = [_filled(lang, key, values) for key, values in comparison.notes]
    if comparison.shared:
        found.append(say(lang, "compare.shared"))
    speeds = [change for change in comparison.changes if change.measure.unit != "B"]
    if speeds and all(change.noise == USUAL_NOISE for change in speeds):
        found.append(say(lang, "compare.no_repeats", noise=percent(USUAL_NOISE, False)))
    return found


def places(sources: Sequence[Source]) -> list[str]:
    return [f"{source.path}:{source.line}" if source.line else source.path for source in sources[:MOST_SOURCES]]


def percent(value: float, signed: bool = True) -> str:
    return f"{value * 100:+.1f} %" if signed else f"{value * 100:.3g} %"


def amount(value: float, unit: str) -> str:
    """A quantity in the unit that its size asks for."""
    if unit == "B":
        return f"{value / GIB:.2f} GiB"
    if unit == "1":
        return f"{value * 100:.1f} %"
    if unit != "s":
        return f"{value:,.4g} {unit}" if abs(value) < 1000 else f"{value:,.0f} {unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms")):
        if abs(value) >= scale:
            return f"{value / scale:.4g} {name}"
    return f"{value * 1e6:.4g} µs"
