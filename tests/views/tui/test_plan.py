"""The plan: other layouts and settings by hand, live, with the keys and with the mouse."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.session.saved import Saved
from doctor.views.tui.screens.tune import TuneScreen
from tests.views.tui.walker import Walker, walk


def test_what_does_not_fit_leads_on_to_a_layout_that_does(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("5")
        assert person.app.session
        for name in person.app.session.taken:  # without any remedy the job does not fit
            person.rows("#remedies").go_to(name)
            await person.press("space")
        await person.press("f")
        await person.until(lambda: person.app.session and person.app.session.layouts)
        assert person.app.session.layouts and person.app.session.layouts.options
        await person.click_row("#remedies", "layout 0")
        assert person.app.session.own == person.app.session.layouts.options[0].settings
        await person.press("6", "w")

    walk(act, folder=tmp_path)
    patch = (tmp_path / "pdoctor-fix.patch").read_text()
    assert "+++ b/train.sh" in patch and "+    --micro-batch-size" in patch


def test_a_setting_is_computed_while_it_is_written_and_refused_with_the_reason(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("5", "e", *"tp=3")
        assert isinstance(person.app.screen, TuneScreen)
        assert "do not divide the 8 GPUs" in person.screen
        await person.press("enter")
        assert isinstance(person.app.screen, TuneScreen)
        await person.press("backspace", "4")
        assert "GiB" in person.screen
        await person.press("enter")
        assert person.step == "plan"
        assert person.app.session and person.app.session.own == {"tp": 4}
        assert "tp=4" in person.screen
        await person.press("6")
        assert "--tensor-model-parallel-size 4" in person.page("#change")
        await person.press("5")
        await person.click_row("#remedies", "own")
        assert person.app.session.own == {}

    walk(act, folder=tmp_path, size=(120, 50))


def test_what_was_set_is_exported_and_kept_in_the_session(tmp_path: Path) -> None:
    kept: list[Saved] = []

    async def act(person: Walker) -> None:
        await person.press("5", "e", *"tp=4 gpu=H100", "enter", "7")
        person.rows("#kinds").go_to("json")
        await person.press("enter")
        kept.append(person.app.saved())

    walk(act, folder=tmp_path)
    data = json.loads((tmp_path / "pdoctor-report.json").read_text())
    assert "--tensor-model-parallel-size 4" in data["plan"]["patch"][0]["diff"]
    assert data["plan"]["effect"]["step_time"]["after"] > 0

    async def again(person: Walker) -> None:
        await person.until(lambda: person.app.session and person.app.session.own)
        assert person.app.session and person.app.session.own == {"tp": 4}

    walk(again, folder=tmp_path, saved=kept[0])


def test_in_chinese_at_80x24_with_the_keyboard(tmp_path: Path) -> None:
    async def act(person: Walker) -> None:
        await person.press("5", "f")
        await person.until(lambda: person.app.session and person.app.session.layouts)
        await person.press("G")
        assert "修改一项设置" in person.screen
        await person.press("k", "space")
        assert person.app.session and person.app.session.own

    walk(act, folder=tmp_path, lang="zh", size=(80, 24))
