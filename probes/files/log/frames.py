"""Frames of a traceback as Python, rich and IPython print them, on lines of their own.

Seen in their output: rich 10 to 14 draws a box, of ASCII characters where the terminal has no others; IPython 7 to 9
names cells of a notebook, gives calls with their arguments and marks the line with an arrow.
"""

from __future__ import annotations

import re

PYTHON = re.compile(r'\s*File "([^"]{1,500})", line (\d+)(?:, in (.{1,200}))?')
BOX = "│╭╰┃┏┗|+"
_RICH = re.compile(r"[│|]\s*([^\s│|]{1,500}):(\d+) in(?: ([^\s│|]{1,200}))?")
_RICH_BARE = re.compile(r"[│|]\s*in ([^\s│|]{1,200}):\d+\s*[│|]?$")
"""So rich names a frame whose file does not exist (any more, or here)."""
_RICH_NAME = re.compile(r"[│|]\s*([A-Za-z_<][\w.<>]{0,200})\s*[│|]$")
_RICH_CODE = re.compile(r"[│|] [❱>] *\d+ ([^\n]{1,400})")
_CELL = re.compile(r"((?:Cell|Input) In ?\[\d+\])(?:, line \d+)?(?:, in ([^(\n]{1,200}))?")
_IPYTHON = re.compile(r"(?:File )?([~/<][^\s:]{1,500}>?|[A-Za-z]:\\[^\s:]{1,500})(?::\d+)?,? in ([^(\n]{1,200})")
_IPYTHON_CODE = re.compile(r"-{1,8}> *\d+ ([^\n]{1,400})")
_TORCH = (
    r"torch[/\\](?:_[a-z]\w*(?:[/\\]|\.py$)|(?:functional|serialization|storage)\.py$|"
    r"(?:accelerator|amp|ao|autograd|backends|compiler|cpu|cuda|distributed|distributions|export|fft|func|futures|fx|jit|"
    r"linalg|masked|mps|mtia|multiprocessing|nested|nn|onnx|optim|package|profiler|quantization|sparse|special|utils|xpu)"
    r"[/\\])"
)
"""Torch outside of an environment, as built from its sources; a folder of that name with other contents is a user's."""
_COMPILED = r"torchinductor_[^/\\]+[/\\]|\.triton[/\\]|\.?triton[_-]cache[/\\]"
"""Code that torch and Triton generate, in their caches."""
_LIBRARY = re.compile(
    rf"[/\\](?:(?:site|dist)-packages[/\\]|[Ll]ib(?:64)?[/\\]python\d[\d.]*[/\\]|{_TORCH}|{_COMPILED})"
    r"|[/\\]bin[/\\](?![^/\\]*\.py$)[^/\\]+$|^<|^\.\.\."
)
"""Files of installed packages, Python and torch; programs that start others; no file; and what rich has cut off."""
_NUMBERED = re.compile(r"\s{2,}\d+(?: |$)")


def frame_of(body: str, notebook: bool = False) -> str | None:
    """`file:function: ` for a line that names a frame, else None. IPython's look like text: only if `notebook`."""
    if found := PYTHON.match(body):
        return f"{found[1]}:{found[3] or '?'}: "
    if found := _CELL.match(body):
        return f"{found[1]}:{(found[2] or '<module>').strip()}: "
    if notebook and (found := _IPYTHON.match(body)):
        return f"{found[1]}:{found[2].strip()}: "
    if found := _RICH.match(body):
        return f"{found[1]}:{found[3] or '?'}: "
    if found := _RICH_BARE.match(body):
        return f"?:{found[1]}: "
    return None


def own_place(body: str) -> str:
    """`file:line in function` where the line names a frame of the job's own code; nothing where it is a library's."""
    found = PYTHON.match(body) or _RICH.match(body)
    if found is None or _LIBRARY.search(found[1]):
        return ""
    return f"{found[1]}:{found[2]} in {found[3] or '?'}"


def code_of(body: str) -> str:
    """The code of the line that a frame stands at, where the line is marked; else nothing."""
    if found := _RICH_CODE.match(body):
        return found[1].strip(" │|")
    return found[1].strip() if (found := _IPYTHON_CODE.match(body)) else ""


def name_of(body: str) -> str:
    """The function on a line of its own: rich breaks a line where a long path fills the box."""
    return found[1] if (found := _RICH_NAME.match(body)) else ""


def is_around(body: str) -> bool:
    """Is it a numbered line of code beside the one that is marked?"""
    return _NUMBERED.match(body) is not None
