"""The page as a document: whole, well-formed, escaped, bounded, the same content as the text report."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from doctor.facts.model import Fact, Source
from doctor.session.analyze import analyze_paths
from doctor.session.report import Input, Report
from doctor.views.html.page import render
from doctor.views.html.style import DARK, LIGHT
from doctor.views.json import as_data
from doctor.views.markup import VOID, el, text
from tests.reports import healthy_report, oom_report
from tests.views.html import jobs

PLANTED = "</script></style><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">&lt;&#x27;"


class Checker(HTMLParser):
    """Every element is closed in its order; ids are unique; what refers to an id finds it."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.named: list[str] = []
        self.headings: list[int] = []
        self.words: list[str] = []
        self.data = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"an attribute is there twice: {tag} {attrs}"
        assert not any(name.startswith("on") or name == "style" for name in given), attrs
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.named += [value for name, value in attrs if name == "aria-labelledby" and value]
        self.named += [value[1:] for name, value in attrs if name == "href" and value and value.startswith("#")]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "svg":
            assert given.get("aria-hidden") or (given.get("role") == "img" and given.get("aria-label")), attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.data += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)


def checked(document: str) -> Checker:
    found = Checker(document)
    assert not found.open
    assert len(found.ids) == len(set(found.ids)), "an id is there twice"
    assert set(found.named) <= set(found.ids), set(found.named) - set(found.ids)
    assert found.headings[0] == 1 and found.headings.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(found.headings, found.headings[1:], strict=False)), found.headings
    return found


@pytest.mark.parametrize("job", ["planned", "hang", "slow"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_pages_of_jobs_are_well_formed(tmp_path: Path, job: str, lang: str) -> None:
    report = analyze_paths([getattr(jobs, job)(tmp_path)])
    found = checked(render(report, lang, facts=True))
    assert {"main", "nav", "header", "footer", "svg", "title"} <= found.tags
    assert json.loads(found.data) == json.loads(json.dumps(as_data(report, lang, True)))


def test_the_verdict_comes_first_and_nothing_of_the_text_report_is_missing(tmp_path: Path) -> None:
    shown = " ".join(" ".join(checked(render(oom_report(tmp_path), "en")).words).split())
    wanted = [
        "✗ problem", "1 root cause", "✗ fatal", "likely", "MEM001", "More model state than fits into GPU memory",
        "rank 3 on node1", "Weights, gradients", "rank3.log:120", "weight +", "CUDA out of memory",
        "7 ranks (0-2, 4-7): watchdog timeout, 612 s later", "Halve the micro-batch", "risk low",
        "Raise the NCCL timeout", "MEM003", "Ranks", "Next steps", "Not checked", "Checked", "Ruled out",
        "core.1: passed over", "pdoctor 0.",
    ]  # fmt: skip
    at = 0
    for part in wanted:
        found = shown.find(part, at)
        assert found >= 0, f"{part!r} is not there after {shown[at - 40 : at]!r}"
        at = found


def test_the_log_around_a_line_is_there_with_its_numbers(tmp_path: Path) -> None:
    shown = render(analyze_paths([jobs.out_of_memory(tmp_path)]), "en")
    assert '<span class="no">8</span><code>iteration 8/' in shown.replace("<code> ", "<code>")
    assert '<div class="hit"><span class="no">▸9</span>' in shown


def test_what_a_log_says_stays_text_wherever_it_comes(tmp_path: Path) -> None:
    report = oom_report(
        tmp_path, f"CUDA out of memory {PLANTED}", f"{PLANTED}.log", Fact("rank.host", PLANTED, "rank:1"),
        Fact("fr.wait_graph", (f"0 > 3: {PLANTED} (why)",)), Fact("torch.version", PLANTED),
    )  # fmt: skip
    report = replace(report, inputs=(*report.inputs, Input(PLANTED, PLANTED, 3, host=PLANTED)))
    document = render(report, "en", facts=True)
    found = checked(document)
    assert "img" not in found.tags and document.count("<script") == 1
    assert "<script" not in found.data and json.loads(found.data)["schema"] == 1


def test_control_characters_are_shown_as_letters(tmp_path: Path) -> None:
    document = render(oom_report(tmp_path, "CUDA out of memory \x1b[31m \u202e \x00"), "en")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", document)


def test_lines_of_a_block_stay_lines_and_are_escaped_once() -> None:
    from doctor.views.html.context import code, diff

    assert code("a = 1  # 2 -> 1\nb") == '<pre class="code" tabindex="0">a = 1  # 2 -&gt; 1\nb</pre>'
    assert '<span class="add">+&lt;b&gt;</span>\n<span class="del">-x</span>' in diff("+<b>\n-x")
    assert text(el("p", "<&>", title='"'), ["x", None]) == '<p title="&quot;">&lt;&amp;&gt;</p>x'


def test_a_page_of_a_thousand_ranks_and_thousands_of_findings_is_bounded(tmp_path: Path) -> None:
    report = crowded(oom_report(tmp_path, "CUDA out of memory", "rank3.log", Fact("config.world_size", 1024)))
    document = render(report, "en")
    found = checked(document.replace(found_json(document), ""))
    assert len(document) - len(found_json(document)) < 1_500_000
    assert any("--json has all of them" in word for word in found.words)


def crowded(report: Report, many: int = 4_000) -> Report:
    """The same finding thousands of times, each with other ids and hundreds of lines."""
    (root,) = report.diagnosis.roots
    lines = tuple(Source("log", "rank3.log", n, f"CUDA out of memory {n}") for n in range(300))
    outcome = replace(root.outcomes[0], sources=lines)
    found = tuple(
        replace(root, rule=replace(root.rule, id=f"MEM{n}"), outcomes=(outcome,) if n < 40 else ()) for n in range(many)
    )
    return replace(report, diagnosis=replace(report.diagnosis, findings=found))


def found_json(document: str) -> str:
    return document[document.index('<script type="application/json"') : document.index("</script>") + 9]


def test_a_healthy_job_has_a_page(tmp_path: Path) -> None:
    found = checked(render(healthy_report(tmp_path), "en"))
    assert any("✓ healthy" in word for word in found.words)


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


ON = {
    "ink": ("ground", "panel", "sunk", "hit", "mark", "add", "del"),
    "dim": ("ground", "panel", "sunk", "info-g"),
    "link": ("ground", "panel"),
    **{name: ("panel", "ground", f"{name}-g") for name in ("fatal", "degraded", "risk", "info", "good")},
    "on": tuple(f"c{n}" for n in range(10)),
}


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_has_a_contrast_of_four_and_a_half(colours: dict[str, str]) -> None:
    assert LIGHT.keys() == DARK.keys()
    for front, grounds in ON.items():
        for ground in grounds:
            assert contrast(colours[front], colours[ground]) >= 4.5, (front, ground)
    assert contrast(colours["panel"], colours["fatal"]) >= 4.5


def test_a_plan_is_shown_before_and_after(tmp_path: Path) -> None:
    document = render(analyze_paths([jobs.planned(tmp_path)]), "en")
    shown = " ".join(checked(document).words)
    for part in ("Before and after", "now", "after", "✓ fits", "pipeline bubble", "The change in your files"):
        assert part in shown, part
    assert '<span class="del">-    --micro-batch-size 4' in document
    assert document.count('class="pipe"') == 8


def test_what_was_considered_and_ruled_out_says_why_and_the_rest_is_counted(tmp_path: Path) -> None:
    document = render(analyze_paths([jobs.planned(tmp_path)]), "en")
    part = document[document.index("Ruled out · ") :]
    assert 'class="id">HNG009</span>' in part and "torch.watchdog_timeout" in part
    assert re.search(r"\d+ further rules were asked about", part)
