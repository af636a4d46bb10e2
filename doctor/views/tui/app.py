"""The application: holds the session, goes from step to step, and runs what takes long beside the screen."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from doctor.messages import say
from doctor.session.answers import Answers
from doctor.session.children import end_children
from doctor.session.collecting import Item, Source
from doctor.session.inputs import InputError
from doctor.session.saved import Saved
from doctor.session.session import Session, answered, begin, chosen, undone, with_material
from doctor.session.written import write_new
from doctor.views import present
from doctor.views.safe import visible
from doctor.views.tui import themes
from doctor.views.tui.screens.change import ChangeScreen
from doctor.views.tui.screens.collect import CollectScreen
from doctor.views.tui.screens.export import ExportScreen
from doctor.views.tui.screens.finding import FindingScreen
from doctor.views.tui.screens.findings import FindingsScreen
from doctor.views.tui.screens.plan import PlanScreen
from doctor.views.tui.screens.question import QuestionScreen
from doctor.views.tui.step import STEPS, StepScreen

SCREENS: tuple[type[StepScreen], ...] = (
    CollectScreen, FindingsScreen, FindingScreen, QuestionScreen, PlanScreen, ChangeScreen, ExportScreen,
)  # fmt: skip


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
        self._saved = saved
        self.source, self.told, self.lang, self.folder = source, answers, lang, folder
        self.session: Session | None = None
        self.items: dict[str, Item] = {}
        self.failure = ""
        self.finding = ""
        """The rule whose proof is shown; empty for the first root."""
        self._trail: list[str] = []
        self._screens: dict[str, StepScreen] = {}

    def say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    @property
    def job_name(self) -> str:
        return visible(", ".join(self.source.paths))

    def on_mount(self) -> None:
        for theme in themes.OWN:
            self.register_theme(theme)
        self.theme = themes.first_theme(self.console.color_system or "")
        self._make_screens()
        self.push_screen("collect")
        self.collect()

    def _make_screens(self) -> None:
        self._screens = {screen.step: screen(self.lang) for screen in SCREENS}
        for name, screen in self._screens.items():
            self.install_screen(screen, name)

    # reading and judging

    def collect(self) -> None:
        """Reads everything, beside the screen."""
        self.items, self.failure = {}, ""
        threading.Thread(target=self._collect, args=(self.source,), name="collect", daemon=True).start()

    def _collect(self, source: Source) -> None:
        try:
            material = source.collect(lambda item: self._from_thread(self._looked, item))
            session = with_material(self.session, material) if self.session else begin(material, self.told)
        except InputError as error:
            note = error.note
            self._from_thread(self._failed, self.say(note.key, path=note.path, **note.values))
        except Exception as error:  # shown to the person, who can still add other files
            self._from_thread(self._failed, f"{type(error).__name__}: {error}")
        else:
            self._from_thread(self.update, session)

    def _from_thread(self, act: object, *values: object) -> None:
        if self.is_running:
            self.call_from_thread(act, *values)  # type: ignore[arg-type]

    def _looked(self, item: Item) -> None:
        self.items[item.name] = item
        self.renew()

    def _failed(self, reason: str) -> None:
        self.failure = reason
        self.renew()

    def update(self, session: Session) -> None:
        """Another state of the session is shown from now on."""
        self.session = session
        self.renew()
        saved, self._saved = self._saved, None
        if saved is not None:  # the first time, what was saved is taken up again
            if saved.chosen is not None:
                self.session = chosen(session, saved.chosen)
            if saved.step in STEPS:
                self.go(saved.step)

    def saved(self) -> Saved:
        """What is needed to go on later."""
        session = self.session
        paths = tuple(path if "://" in path else str(Path(path).absolute()) for path in self.source.paths)
        answers, names = (session.answers, session.chosen) if session else (self.told, None)
        return Saved(paths, self.source.node, answers, names, self._here() or STEPS[0])

    def renew(self) -> None:
        if isinstance(self.screen, StepScreen):
            self.screen.renew()

    def add(self, path: str) -> None:
        """Reads one more file or folder."""
        self.source = self.source.adding(path)
        self.go("collect")
        self.collect()

    def answer(self, question: str, key: str) -> None:
        if self.session is not None:
            self.update(answered(self.session, question, key))

    def choose(self, names: Iterable[str]) -> None:
        if self.session is not None:
            self.update(chosen(self.session, names))

    def action_undo(self) -> None:
        if self.session is not None:
            self.update(undone(self.session))

    # the walk

    def may_go(self, name: str) -> bool:
        return name == "collect" or self.session is not None

    def go(self, name: str) -> None:
        """Shows a step, if there is something to show."""
        here = self._here()
        if name != here and self.may_go(name):
            self._trail.append(here)
            self.switch_screen(name)

    def _here(self) -> str:
        return self.screen.step if isinstance(self.screen, StepScreen) else ""

    def show_finding(self, rule: str) -> None:
        self.finding = rule
        self.go("finding")

    def action_go(self, name: str) -> None:
        if isinstance(self.screen, StepScreen):
            self.go(name)

    def action_next(self) -> None:
        """The next step of the walk; questions are passed over where none is worth asking."""
        here = self._here()
        if here not in STEPS or here == STEPS[-1]:
            return
        after = STEPS[STEPS.index(here) + 1]
        session = self.session
        if after == "finding" and (session is None or not session.report.diagnosis.findings):
            after = "question"
        if after == "question" and session is not None and not present.next_steps(session.report):
            after = "plan"
        self.go(after)

    async def action_back(self) -> None:
        if not isinstance(self.screen, StepScreen):
            self.pop_screen()
        elif self._trail:
            self.switch_screen(self._trail.pop())

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

    # language, theme, help, leaving

    def action_language(self) -> None:
        self.lang = "zh" if self.lang == "en" else "en"
        self.run_worker(self._new_screens(), exclusive=True)

    async def _new_screens(self) -> None:
        """Keys have their words from when a screen was made: all are made anew."""
        here = self._here()
        old = dict(self._screens)
        self._screens = {screen.step: screen(self.lang) for screen in SCREENS}
        await self.switch_screen(self._screens[here])
        for name, screen in old.items():
            self.uninstall_screen(name)
            if screen.is_attached:
                await screen.remove()
        for name, screen in self._screens.items():
            self.install_screen(screen, name)

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

    def action_ranks(self) -> None:
        if self.session is not None and isinstance(self.screen, StepScreen):
            from doctor.views.tui.screens.ranks import RanksScreen

            self.push_screen(RanksScreen(self.lang, self.session.report))

    async def action_quit(self) -> None:
        end_children()
        self.exit(0)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for number, name in enumerate(STEPS, 1):
            if self.may_go(name):
                yield SystemCommand(f"{number} {self.say(f'tui.step.{name}')}", "", lambda name=name: self.go(name))
        for key in ("ranks", "language", "theme", "zoom", "undo", "help", "quit"):
            action = {"theme": "next_theme"}.get(key, key)
            yield SystemCommand(
                self.say(f"tui.key.{key}"), "", lambda action=action: self.call_later(self.run_action, action)
            )
