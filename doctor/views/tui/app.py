"""The application: holds the session, goes from step to step, and runs what takes long beside the screen."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen
from textual.theme import Theme

from doctor.messages import say
from doctor.session.children import end_children
from doctor.session.inputs import InputError
from doctor.session.item import Item
from doctor.session.written import write_new
from doctor.views.safe import visible
from doctor.views.tui import themes
from doctor.views.tui.layout_search import LayoutSearch
from doctor.views.tui.step import STEPS, StepScreen
from doctor.views.tui.watching import Watching

if TYPE_CHECKING:  # what reads and judges is imported beside the screen, which stands there before
    from doctor.session.answers import Answers
    from doctor.session.collecting import Source
    from doctor.session.laid_open import LaidOpen
    from doctor.session.saved import Saved
    from doctor.session.session import Session


class PdoctorApp(App[int]):
    """Walks a person from what was collected to a change of their files. `folder` is where files are written."""

    TITLE = "pdoctor"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"go('{name}')", show=False) for number, name in enumerate(STEPS, 1)),
        Binding("f2", "language", show=False, id="language"),
        Binding("f3", "next_theme", show=False, id="theme"),
        Binding("z", "zoom", show=False, id="zoom"),
        Binding("u", "undo", show=False, id="undo"),
        Binding("m", "ranks", show=False, id="ranks"),
        Binding("ctrl+c", "quit", show=False),
    ]

    def __init__(
        self,
        source: Source,
        answers: Answers,
        lang: str = "en",
        folder: Path = Path(),
        saved: Saved | None = None,
    ) -> None:
        super().__init__()
        self.animation_level = "none"  # over ssh each step of a glide is a repaint
        self._saved = saved
        self.source, self.told, self.lang, self.folder = source, answers, lang, folder
        self.session: Session | None = None
        self.items: dict[str, Item] = {}
        self.failure = ""
        self.looking = True
        self._turn, self._begin = 0, 0.0
        self.finding = ""
        """The rule whose proof is shown, or `event` and a number; empty for the first root."""
        self.layout_search = LayoutSearch(self)
        self.written: list[str] = []
        """What was written and how it is used, for when the walk is over."""
        go_on = getattr(source, "go_on", None)
        self.watching = Watching(self, go_on) if go_on is not None else None
        """The job, where it is watched while it runs."""
        self._running_in: asyncio.AbstractEventLoop | None = None
        self._left = False
        self._trail: list[str] = []
        self._screens: dict[str, StepScreen] = {}

    def say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    @cached_property
    def laid(self) -> LaidOpen:
        """The logs that had to be unpacked to be shown."""
        from doctor.session.laid_open import LaidOpen

        return LaidOpen()

    @property
    def waited(self) -> float:
        """Seconds since it was begun to look."""
        return time.monotonic() - self._begin

    @property
    def job_name(self) -> str:
        return visible(", ".join(self.source.paths))

    def get_driver_class(self) -> type[Driver]:
        from textual.drivers.linux_driver import LinuxDriver

        usual = super().get_driver_class()
        if usual is not LinuxDriver:  # a browser
            return usual
        from doctor.views.tui.terminal import Terminal

        return Terminal

    def on_mount(self) -> None:
        self._running_in = asyncio.get_running_loop()
        if self._left:
            self.exit(0)
        for theme in themes.OWN:
            self.register_theme(theme)
        themes.keep_dim_readable(self._filters)
        self.theme_changed_signal.subscribe(self, self._use_palette)
        self.theme = themes.first_theme(self.console.color_system or "")
        self.push_screen(self._made("collect"))
        self.call_after_refresh(self.collect)  # not before: two threads would share what the first paint needs

    def _use_palette(self, theme: Theme) -> None:
        palette = themes.PALETTES.get(theme.name)
        if palette is not None and theme.dark:
            self.ansi_theme_dark = palette
        elif palette is not None:
            self.ansi_theme_light = palette

    def _made(self, name: str, install: bool = True) -> StepScreen:
        """The screen of a step, made when it is first gone to."""
        if name not in self._screens:
            module = import_module(f"doctor.views.tui.screens.{name}")
            screen: StepScreen = getattr(module, f"{name.capitalize()}Screen")(self.lang)
            if install:
                self.install_screen(screen, name)
            self._screens[name] = screen
        return self._screens[name]

    # reading and judging

    def collect(self) -> None:
        """Reads everything, beside the screen; once more where that goes on already, and only the last one counts."""
        self.items, self.failure = {}, ""
        self.looking, self._turn, self._begin = True, self._turn + 1, time.monotonic()
        threading.Thread(target=self._collect, args=(self.source, self._turn), name="collect", daemon=True).start()
        self.renew()

    def _collect(self, source: Source, turn: int) -> None:
        from doctor.session.session import begin, with_material

        try:
            material = source.collect(partial(self.from_thread, self._looked, turn))
            session = with_material(self.session, material) if self.session else begin(material, self.told)
        except InputError as error:
            note = error.note
            self.from_thread(self._failed, turn, self.say(note.key, path=note.path, **note.values))
        except Exception as error:  # shown to the person, who can still add other files
            self.from_thread(self._failed, turn, f"{type(error).__name__}: {error}")
        else:
            self.from_thread(self._read, turn, session)

    def from_thread(self, act: object, *values: object, **named: object) -> None:
        """Calls `act` where the screen is drawn; nothing where the walk is over."""
        if not self.is_running:
            return
        try:
            self.call_from_thread(act, *values, **named)  # type: ignore[arg-type]
        except (RuntimeError, CancelledError):
            if self.is_running:  # else it ended meanwhile
                raise

    def _looked(self, turn: int, item: Item) -> None:
        if turn == self._turn:
            self.items[item.name] = item
            if self._here() == "collect":
                self.renew()

    def _failed(self, turn: int, reason: str) -> None:
        if turn == self._turn:
            self.looking, self.failure = False, reason
            self.items = {
                name: replace(item, state="failed") if item.state == "running" else item
                for name, item in self.items.items()
            }
            self.renew()

    def _read(self, turn: int, session: Session) -> None:
        if turn == self._turn:
            self.looking = False
            self.update(session)
            if self.watching is not None:
                self.go("findings")
                self.watching.begin()

    def update(self, session: Session) -> None:
        """Another state of the session is shown from now on."""
        if self.session is None:
            gc.freeze()  # what was read stays: to look through it for garbage takes longer than a key may
        self.session = session
        self.renew()
        saved, self._saved = self._saved, None
        if saved is not None:  # the first time, what was saved is taken up again
            from doctor.session.session import chosen, tuned

            if saved.chosen is not None:
                session = chosen(session, saved.chosen)
            self.session = tuned(session, saved.settings) if saved.settings else session
            if saved.step in STEPS:
                self.go(saved.step)

    def saved(self) -> Saved:
        """What is needed to go on later."""
        from doctor.session.saved import Saved
        from doctor.session.session import in_words

        session = self.session
        paths = tuple(path if "://" in path else str(Path(path).absolute()) for path in self.source.paths)
        answers, names = (session.answers, session.chosen) if session else (self.told, None)
        settings = in_words(session) if session else ""
        return Saved(paths, self.source.node, answers, names, self._here() or STEPS[0], settings)

    def renew(self) -> None:
        if isinstance(self.screen, StepScreen):
            self.screen.renew()

    def add(self, path: str) -> None:
        """Reads one more file or folder."""
        self.source = self.source.adding(path)
        if self.watching is None:
            self.go("collect")
            self.collect()

    def answer(self, question: str, key: str) -> None:
        if self.session is not None:
            from doctor.session.session import answered

            self.update(answered(self.session, question, key))

    def choose(self, names: Iterable[str]) -> None:
        if self.session is not None:
            from doctor.session.session import chosen

            self.update(chosen(self.session, names))

    def action_undo(self) -> None:
        if self.session is not None:
            from doctor.session.session import undone

            self.update(undone(self.session))

    # the walk

    def may_go(self, name: str) -> bool:
        return name == "collect" or self.session is not None

    def go(self, name: str) -> None:
        """Shows a step, if there is something to show."""
        here = self._here()
        if name != here and self.may_go(name):
            self._trail.append(here)
            self.switch_screen(self._made(name))

    def _here(self) -> str:
        return self.screen.step if isinstance(self.screen, StepScreen) else ""

    def show_finding(self, rule: str) -> None:
        self.finding = rule
        self.go("finding")

    def action_go(self, name: str) -> None:
        if isinstance(self.screen, StepScreen):
            self.go(name)

    def action_next(self) -> None:
        """The next step of the walk, where there is one."""
        if isinstance(self.screen, StepScreen) and (after := self.after(self.screen.step)):
            self.screen.step_on()
            self.go(after)

    def after(self, here: str) -> str:
        """The step to go on to: without a proof, a question or a remedy its steps are passed over."""
        if here not in STEPS or here == STEPS[-1]:
            return ""
        from doctor.session.session import remedies
        from doctor.views import present

        empty: set[str] = set()
        if self.session is not None:
            report = self.session.report
            if not report.diagnosis.findings and not present.unexplained(report):
                empty.add("finding")
            if not present.next_steps(report) and not self.session.answers.keys:
                empty.add("question")
            if not any(True for _ in remedies(report)):
                empty |= {"plan", "change"}
        return next(name for name in STEPS[STEPS.index(here) + 1 :] if name not in empty)

    async def action_back(self) -> None:
        if not isinstance(self.screen, StepScreen):
            self.pop_screen()
        elif not self.screen.step_back() and self._trail:
            self.switch_screen(self._made(self._trail.pop()))

    def copy(self, text: str) -> None:
        """To the clipboard of the person's terminal, and to a file: not every multiplexer lets it through."""
        self.copy_to_clipboard(text)
        try:
            path = write_new(self.folder, "pdoctor-copied.txt", text)
        except OSError as error:
            self.notify(
                self.say("tui.unwritable", path="pdoctor-copied.txt", reason=error.strerror or error), markup=False
            )
        else:
            self.notify(self.say("tui.change.copied", path=path), markup=False)

    def wrote(self, told: str) -> None:
        """Says what was written, now and once more when the walk is over."""
        self.written.append(told)
        self.notify(told, timeout=15, markup=False)

    # language, theme, help, leaving

    def action_language(self) -> None:
        self.lang = "zh" if self.lang == "en" else "en"
        self.run_worker(self._new_screens(), exclusive=True)

    async def _new_screens(self) -> None:
        """Keys have their words from when a screen was made: all are made anew."""
        here = self._here()
        old, self._screens = self._screens, {}
        await self.switch_screen(self._made(here, install=False))
        for name, screen in old.items():
            self.uninstall_screen(name)
            if screen.is_attached:
                await screen.remove()
        self.install_screen(self._screens[here], here)

    def action_next_theme(self) -> None:
        names = themes.NAMES
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]

    def action_zoom(self) -> None:
        focused = self.screen.focused
        if self.screen.maximized is not None:
            self.screen.minimize()
        elif focused is not None:
            self.screen.maximize(focused)

    def action_help(self) -> None:
        from doctor.views.tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.lang, self._here() or "collect"))

    async def action_ranks(self) -> None:
        if self.session is not None and isinstance(self.screen, StepScreen):
            from doctor.views.tui.screens.ranks import RanksScreen

            with self.batch_update():
                await self.push_screen(RanksScreen(self.lang, self.session.report))

    async def action_quit(self) -> None:
        self._quit()

    def leave(self) -> None:
        """Ends the walk from elsewhere: any thread, and the handler of a signal."""
        self._left, running_in = True, self._running_in
        if running_in is not None:
            with suppress(RuntimeError):  # it is over by now
                running_in.call_soon_threadsafe(self._quit)

    def _quit(self) -> None:
        if self.watching is None:  # what a watch has begun is brought to its end
            end_children()
        self.exit(0)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        from doctor.views.tui.palette import commands

        return commands(self, screen)
