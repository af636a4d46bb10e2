"""A job that is watched shows what goes wrong on the screen while a person looks."""

from __future__ import annotations

from pathlib import Path

from doctor.rulebase.load import load_rulebase
from doctor.session.watch.ending import Ending
from doctor.session.watch.follow import follow
from doctor.session.watch.source import Watched
from doctor.session.watch.watch import Watch
from tests.views.tui.walker import Walker, walk

OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 3 has a total capacity of 79.10 GiB of which 911.25 MiB is free.\n"


def test_a_failure_that_comes_while_one_looks_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "rank3.log"
    log.write_text("".join(f"iteration {n}/100 | elapsed time per iteration (ms): 2000.0 |\n" for n in range(1, 30)))
    following = follow([str(log)], (), None)
    watch = Watch(load_rulebase(()), following.follower, following.roots)
    source = Watched(watch, following, Ending(following), [str(log)], 0.05, lambda said: None)

    async def act(person: Walker) -> None:
        await person.press("2")
        assert "MEM" not in person.screen
        with log.open("a") as file:
            file.write(OOM)
        await person.until(lambda: person.app.session and person.app.session.report.diagnosis.roots)
        await person.until(lambda: "MEM" in person.screen)

    walk(act, folder=tmp_path, source=source)
    following.follower.close()
