"""The page in a real browser: nothing is fetched or run, nothing overflows, it folds, prints and changes colours."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from doctor.facts.model import Fact
from doctor.session.analyze import analyze_paths
from doctor.session.report import Input
from doctor.views.html.page import POLICY, render
from tests.reports import oom_report
from tests.views.html import jobs
from tests.views.html.chromium import FOUND, Chromium

pytestmark = pytest.mark.skipif(FOUND is None, reason="no Chromium here (chromium, chromium-browser, google-chrome)")

WIDTHS = (360, 800, 1400)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def loopback() -> Iterator[tuple[str, list[str]]]:
    """A server that notes what is asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


def page(folder: Path, content: str) -> Path:
    path = folder / "report.html"
    path.write_text(content, encoding="utf-8")
    return path


def unfolded(browser: Chromium) -> None:
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")


def overflowing(browser: Chromium) -> list[str]:
    """Elements that stand out of the page, but for those in a place that scrolls by itself."""
    found = browser.evaluate(
        """JSON.stringify([...document.body.querySelectorAll('*')].filter(each => {
            if (each.closest('.wide, svg, .unseen, .skip')) return false
            const box = each.getBoundingClientRect()
            return box.width && (box.right > innerWidth + 1 || box.left < -1)
        }).map(each => each.tagName + '.' + each.className))"""
    )
    told: list[str] = json.loads(found)
    return told


@pytest.mark.parametrize("job", ["planned", "hang", "slow"])
def test_nothing_overflows_on_phones_and_desktops_folded_or_not(tmp_path: Path, browser: Chromium, job: str) -> None:
    report = analyze_paths([getattr(jobs, job)(tmp_path)])
    for lang in ("en", "zh"):
        path = page(tmp_path, render(report, lang, facts=True))
        for width in WIDTHS:
            browser.size(width)
            browser.open(path)
            for _ in range(2):
                assert browser.evaluate("document.documentElement.scrollWidth") <= width, (lang, width)
                assert not overflowing(browser), (lang, width)
                unfolded(browser)


def test_long_words_of_logs_and_names_do_not_widen_the_page(tmp_path: Path, browser: Chromium) -> None:
    long = "x" * 3_000
    report = oom_report(tmp_path, f"CUDA out of memory {long}", f"{long[:300]}.log", Fact("rank.host", long, "rank:1"))
    report = replace(report, inputs=(*report.inputs, Input(long, "log", 3, host=long)))
    path = page(tmp_path, render(report, "en", facts=True))
    for width in WIDTHS:
        browser.size(width)
        browser.open(path)
        unfolded(browser)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert not overflowing(browser)


def test_nothing_is_fetched_and_nothing_runs_whatever_a_log_says(
    tmp_path: Path, browser: Chromium, loopback: tuple[str, list[str]]
) -> None:
    place, asked = loopback
    planted = (
        f"</script></style></title><script src={place}/a></script><script>document.title='run'</script>"
        f"<img src={place}/b onerror=\"document.title='run'\"><svg onload=\"document.title='run'\"><image href={place}/c />"
        f"</svg><link rel=stylesheet href={place}/d><style>@import url({place}/e);*{{background:url({place}/f)}}</style>"
        f'<meta http-equiv=refresh content="0;url={place}/g"><iframe src={place}/h></iframe>" autofocus onfocus="alert(1)'
    )
    report = oom_report(
        tmp_path, f"CUDA out of memory {planted}", f"{planted}.log", Fact("rank.host", planted, "rank:1"),
        Fact("fr.wait_graph", (f"0 > 3: {planted} (why)",)), Fact("torch.version", planted),
    )  # fmt: skip
    path = page(tmp_path, render(report, "en", facts=True))
    browser.open(path)
    unfolded(browser)
    assert browser.evaluate("document.title").startswith("pdoctor: ")
    assert browser.evaluate("document.scripts.length") == 1
    assert browser.evaluate("document.querySelectorAll('img, iframe, link, image, object, embed').length") == 0
    assert browser.requested == [path.resolve().as_uri()]
    assert not asked and not browser.complaints
    assert json.loads(browser.evaluate("document.getElementById('report').textContent"))["verdict"] == "problem"


def test_the_policy_alone_would_keep_a_script_from_running(
    tmp_path: Path, browser: Chromium, loopback: tuple[str, list[str]]
) -> None:
    place, asked = loopback
    document = render(oom_report(tmp_path), "en")
    live = f"<script>document.title='run'</script><img src={place}/a onerror=\"document.title='run'\"></body>"
    assert POLICY in document
    browser.open(page(tmp_path, document.replace("</body>", live)))
    assert browser.evaluate("document.title").startswith("pdoctor: ")
    assert not asked and browser.complaints
    browser.open(page(tmp_path, document.replace("</body>", live).replace(POLICY, "")))
    assert browser.evaluate("document.title") == "run", "without the policy it would run: the test sees what it should"


def test_colours_follow_the_system_and_the_choice_of_the_reader(tmp_path: Path, browser: Chromium) -> None:
    path = page(tmp_path, render(oom_report(tmp_path), "en"))
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(path)
        seen[scheme] = browser.evaluate(ground)
    assert seen["light"] != seen["dark"]
    browser.evaluate("document.getElementById('theme-light').click()")
    assert browser.evaluate(ground) == seen["light"]
    browser.prefer("dark", "print")
    assert browser.evaluate(ground) == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.prefer("light")


def test_the_map_of_a_thousand_ranks_has_a_cell_each(tmp_path: Path, browser: Chromium) -> None:
    report = oom_report(tmp_path, "CUDA out of memory", "rank3.log", Fact("config.world_size", 1024))
    browser.size(1400)
    browser.open(page(tmp_path, render(report, "en")))
    assert browser.evaluate("document.querySelectorAll('.node rect').length") == 1024
    assert browser.evaluate("document.querySelectorAll('.node .r-root').length") == 1


def test_screenshots_show_something(tmp_path: Path, browser: Chromium) -> None:
    path = page(tmp_path, render(analyze_paths([jobs.hang(tmp_path)]), "en"))
    browser.size(1400)
    browser.open(path)
    browser.screenshot(tmp_path / "page.png", whole=True)
    data = (tmp_path / "page.png").read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 20_000
