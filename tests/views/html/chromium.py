"""A real browser for tests: headless Chromium, driven over a pipe by the DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOUND = next((path for name in NAMES if (path := shutil.which(name))), None)
PATIENCE = 240.0
"""Seconds that an answer may take on a busy machine."""
START = """
import os, sys
reads, writes = (os.dup(int(number)) for number in sys.argv[1:3])
reads, writes = (os.dup(number) if number < 5 else number for number in (reads, writes))
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads commands from descriptor 3 and writes answers to 4."""


class Chromium:
    """One browser with one page. `events` has everything that the browser told, as (method, parameters)."""

    def __init__(self, folder: Path) -> None:
        assert FOUND is not None
        ours, theirs = os.pipe(), os.pipe()
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
            "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(ours[0]), str(theirs[1]), FOUND, *options],
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from = ours[1], theirs[0]
        self._held, self._number, self._session = b"", 0, ""
        self.events: list[tuple[str, dict[str, Any]]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._from], [], [], max(end - time.monotonic(), 0))
            piece = os.read(self._from, 1 << 20) if ready else b""
            assert piece, "the browser does not answer"
            self._held += piece
        text, _, self._held = self._held.partition(b"\0")
        told: dict[str, Any] = json.loads(text)
        if "method" in told:
            self.events.append((told["method"], told["params"]))
        return told

    def size(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def prefer(self, scheme: str, media: str = "") -> None:
        """A person's choice of light or dark, and print instead of the screen."""
        self.call(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def open(self, path: Path) -> None:
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(method == "Page.loadEventFired" for method, _ in self.events):
            self._next()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page; the page's own policy does not hold for it."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def screenshot(self, path: Path, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    @property
    def requested(self) -> list[str]:
        """Addresses that the page asked for."""
        return [params["request"]["url"] for method, params in self.events if method == "Network.requestWillBeSent"]

    @property
    def complaints(self) -> list[str]:
        """Errors of the page: exceptions, and what its policy refused."""
        logged = [p["entry"]["text"] for method, p in self.events if method == "Log.entryAdded"]
        return logged + [str(p) for method, p in self.events if method == "Runtime.exceptionThrown"]
