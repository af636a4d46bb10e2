"""Joins the lines of Python tracebacks, also where every line has a label and the ranks are mixed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from doctor.facts.model import Source, Value
from probes.files.log.frames import BOX, PYTHON, code_of, frame_of, is_around, name_of, own_place
from probes.files.log.prefix import split

HEADER = re.compile(r"Traceback \(most recent call last\)")
FINAL = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\([\w.]+\))?(?::(?: (.*))?)?$")
EXCEPTION = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Z_]\w*(?:Error|Exception|Exit|Interrupt|Warning|Timeout|Failure|Fault|Died\w*|Stop\w*)$"
    r"|(?:[A-Za-z_]\w*\.)+(?:error|timeout|gaierror|herror|Empty|Full|Again)$"
)
LONE = re.compile(r"(?:[A-Za-z_]\w*\.)*(?!BrokenPipe)[A-Z]\w+(?:Error|Exception)$")
CLASS = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w+$")
REPORT = re.compile(r"\s*traceback : $")
"""What torchrun's summary puts before the traceback that a rank left to it; it indents all lines alike."""
CHAINED = re.compile(r"During handling of the above exception|The above exception was the direct cause")
FRAME = re.compile(r'(?:.*?[\]:] )??(?=\s{0,8}File "[^"]{1,500}", line \d+)')
"""A frame, and what stands before it; matched at the start of a line only: a search would begin anew at each place."""
MARKS = re.compile(r"[\s~^]+$|\s*\[Previous line repeated|\s*<\d+ [\w ]+>$")
NEW_RECORD = re.compile(
    r"\s*$|frame #|Exception raised from|\*{5}|={5}|-{5}|\[[A-Z] ?\d|[IWEF]\d{3,4} |\[?\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|"
    r"[\w.-]+:\d+:\d+ \[-?\d|\[rank|wandb:|\{'|(?:INFO|WARNING|ERROR|DEBUG)\b|terminate called|srun:|Traceback"
)
REPORTED = re.compile(
    r"(?:ChildFailedError|CalledProcessError|ProcessExitedException|KeyboardInterrupt|SystemExit|SignalException)$"
)
"""Exceptions by which one process says that another one ended."""

FRAMES = 30
CONTEXT = 12
MESSAGE_LINES = 8
MESSAGE = 2000
NAME = 300
"""Letters of an exception's name; a longer word is none, and would be tried at each of its letters."""
BAR = re.compile(r"\d%\|")
LABEL = 40
FOREIGN = 200
"""Lines of others between two lines of one traceback, after which it is taken as cut off."""


@dataclass(slots=True)
class Raised:
    """One exception of a chain, as far as it was read. `own` is its innermost frame in the job's own code."""

    exception: str = ""
    message: str = ""
    frames: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    final: Source | None = None
    position: int = 0
    own: str = ""

    def enter(self, frame: str, body: str, source: Source) -> None:
        """The next frame, as `frame_of` gives it."""
        if place := own_place(body):
            self.own = f"{place}: "
        elif self.own.endswith(": "):
            self.own = self.own[:-2]  # its code was not told
        self.frames.append(frame)
        _remember(self, source)

    def add_code(self, code: str, source: Source) -> None:
        """The code that the last frame stands at."""
        if self.frames and self.frames[-1].endswith(": "):
            self.frames[-1] += code[:200]
            if self.own.endswith(": "):
                self.own += code[:200]
            _remember(self, source)

    @property
    def text(self) -> str:
        return "\n".join(self.frames[-FRAMES:])

    @property
    def context(self) -> tuple[Source, ...]:
        return tuple(self.sources[-CONTEXT:])


@dataclass(slots=True)
class Traceback:
    """A traceback being read under one label. `lead` is what logging put before each of its lines; `barred` if its
    header stands behind a progress bar, with a part of its label alone."""

    label: str
    lead: str
    notebook: bool = False
    current: Raised = field(default_factory=Raised)
    cause: Raised | None = None
    copies: int = 1
    blank: bool = False
    waiting: bool = False
    extra: int = 0
    unseen: int = 0
    barred: bool = False

    def body(self, text: str) -> str:
        """`text` without the lead, if it has one of the same shape."""
        size = len(self.lead)
        if size and _shape(text[:size]) == _shape(self.lead):
            return text[size:]
        return text


def _shape(text: str) -> str:
    return re.sub(r"\d", "0", text)


class Tracebacks:
    """All tracebacks open in one file, by label. `feed` gives those that a line completes."""

    def __init__(self) -> None:
        self._open: dict[str, Traceback] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def complete(self) -> bool:
        """Have all that are open their last line? More of its message may still come."""
        return all(traceback.current.final is not None for traceback in self._open.values())

    def belongs(self, label: str) -> Raised | None:
        """The exception whose final line, or message, was just read under `label`."""
        traceback = self._open.get(label)
        return traceback.current if traceback and traceback.current.final and not traceback.blank else None

    def feed(self, label: str, body: str, source: Source, position: int, unknown: bool = False) -> Iterator[Traceback]:
        """Take one line. Yields tracebacks that have ended, each once. Of a line that is `unknown` otherwise, the name
        of an exception at its start is a traceback whose frames were left out."""
        for other in [o for o in self._open.values() if o.label != label]:
            other.unseen += 1
            if other.unseen > FOREIGN:
                yield self._open.pop(other.label)
        traceback = self._open.get(label) or self._adopted(label)
        if traceback is None:
            begun = _begin(label, body, source, position)
            if begun is None and unknown:
                begun = _alone(label, body, source, position)
            if begun:
                self._open[begun.label] = begun
            return
        traceback.unseen = 0
        yield from self._advance(traceback, traceback.body(body), body, source, position)

    def _adopted(self, label: str) -> Traceback | None:
        """The traceback whose header lost the launcher's label to a progress bar that went back in its line."""
        for own, traceback in self._open.items():
            if traceback.barred and label.endswith(own):
                del self._open[own]
                traceback.label, traceback.barred = label, False
                self._open[label] = traceback
                return traceback
        return None

    def ended(self, all_of_them: bool) -> Iterator[Traceback]:
        """Those whose last line was read, as nothing more is expected of them. The rest is dropped on demand."""
        for label, traceback in [*self._open.items()]:
            if traceback.current.final is not None:
                yield self._open.pop(label)
        if all_of_them:
            self._open = {}

    def finish(self) -> Iterator[Traceback]:
        """What is still open at the end of the file."""
        yield from self._open.values()
        self._open = {}

    def _advance(self, tb: Traceback, body: str, whole: str, source: Source, position: int) -> Iterator[Traceback]:
        now = tb.current
        if now.final is None:
            yield from self._in_frames(tb, body, source, position)
        elif CHAINED.search(body):
            tb.cause = tb.cause or now
            tb.current = Raised(position=position)
            tb.waiting, tb.blank, tb.extra = True, False, 0
        elif HEADER.search(whole) or (not tb.blank and PYTHON.match(body)):
            yield self._close(tb)
            if begun := _begin(tb.label, whole, source, position):
                self._open[tb.label] = begun
        elif tb.copies > 1 and (match := _ends(body)):
            # The same traceback by several ranks at once, line by line: each has its own last line.
            yield Traceback(tb.label, tb.lead, tb.notebook, now, tb.cause)
            tb.copies -= 1
            tb.current = Raised(frames=now.frames, sources=now.sources, position=position, own=now.own)
            tb.extra, tb.blank = 0, False
            _finish(tb.current, match, source, position)
        elif not body.strip():
            tb.blank = True
            tb.extra += 1
            if tb.extra > MESSAGE_LINES:
                yield self._close(tb)
        elif (
            tb.blank or NEW_RECORD.match(body) or _ends(body) or tb.extra >= MESSAGE_LINES or len(now.message) > MESSAGE
        ):
            yield self._close(tb)
        else:
            tb.extra += 1
            now.message = f"{now.message}\n{body.strip()}"[:MESSAGE]

    def _in_frames(self, tb: Traceback, body: str, source: Source, position: int) -> Iterator[Traceback]:
        now = tb.current
        if frame := frame_of(body, tb.notebook):
            now.enter(frame, body, source)
            tb.waiting, tb.extra = False, 0
        elif HEADER.search(body):
            if not tb.waiting:
                tb.copies += 1
            tb.waiting = False
        elif code := code_of(body):
            now.add_code(code, source)
        elif body[:1] in BOX and body:
            if now.frames and now.frames[-1].endswith(":?: ") and (name := name_of(body)):
                now.frames[-1] = f"{now.frames[-1][:-3]}{name}: "
        elif not body.strip() or MARKS.match(body) or (tb.notebook and is_around(body)):
            return
        elif body[0] in " \t":
            now.add_code(body.strip(), source)
        elif not tb.waiting and (match := _ends(body) or _ends(body, CLASS)):
            _finish(now, match, source, position)
        else:
            tb.extra += 1
            if tb.extra > MESSAGE_LINES:
                yield self._close(tb)

    def _close(self, tb: Traceback) -> Traceback:
        del self._open[tb.label]
        return tb


def _begin(label: str, body: str, source: Source, position: int) -> Traceback | None:
    if header := HEADER.search(body):
        before = body[: header.start()]
        if own := _label_after_bar(before):
            return Traceback(label + own.strip(), "", barred=True, current=Raised(position=position, sources=[source]))
        # IPython begins with the name of the exception, and draws a line before it.
        notebook = EXCEPTION.match(before.strip("- ")) is not None
        lead = "" if notebook or not before.strip(BOX + "─- ") else before
        if REPORT.match(before):
            lead = before[: -len(before.lstrip())]
        return Traceback(label, lead, notebook, Raised(position=position, sources=[source]))
    if 'File "' in body and (frame := FRAME.match(body)):
        lead = frame[0].rstrip(" ") + " " if frame[0].strip() else ""
        traceback = Traceback(label, lead, current=Raised(position=position))
        rest = PYTHON.match(traceback.body(body))
        if rest:
            traceback.current.enter(f"{rest[1]}:{rest[3] or '?'}: ", traceback.body(body), source)
            return traceback
    return None


def _alone(label: str, body: str, source: Source, position: int) -> Traceback | None:
    """An exception of which only the last line is there. One of the output that is closed at the end is no failure."""
    match = _ends(body, LONE)
    if match is None or not match[2]:
        return None
    traceback = Traceback(label, "", current=Raised(position=position))
    _finish(traceback.current, match, source, position)
    return traceback


def _label_after_bar(before: str) -> str:
    """The label of a header before which a progress bar stands that did not end its line; empty where there is none."""
    start = before.rfind("[", max(len(before) - LABEL, 1))
    own = before[start:] if start > 0 and BAR.search(before, 0, start) else ""
    return own if own and split(own).label == own else ""


def _ends(body: str, names: re.Pattern[str] = EXCEPTION) -> re.Match[str] | None:
    """The last line of a traceback: an exception's name, and its message if it has one."""
    match = FINAL.match(body)
    return match if match and len(match[1]) <= NAME and names.match(match[1]) else None


def _finish(raised: Raised, match: re.Match[str], source: Source, position: int) -> None:
    raised.exception = match[1]
    raised.message = (match[2] or "").strip()[:MESSAGE]
    raised.final = source
    raised.position = position


def _remember(raised: Raised, source: Source) -> None:
    raised.sources.append(source)
    del raised.sources[:-CONTEXT]
    del raised.frames[: -2 * FRAMES]


def fields_of(tb: Traceback) -> dict[str, Value]:
    """The fields of a `python.traceback` event; `exception` is empty if the last line was cut off."""
    now = tb.current
    if now.final is None and tb.cause is not None and not now.frames:
        now, cause = tb.cause, None
    else:
        cause = tb.cause
    fields: dict[str, Value] = {
        "exception": now.exception,
        "message": now.message,
        "frames": now.text,
        "last_frame": now.frames[-1] if now.frames else "",
        "own_frame": now.own.removesuffix(": "),
        "cause_exception": cause.exception if cause else "",
        "cause_message": cause.message if cause else "",
        "cause_frames": cause.text if cause else "",
        "traceback": now.text,
        "symptom": "fatal",
    }
    if REPORTED.search(now.exception):
        fields["follows"] = True
    return fields
