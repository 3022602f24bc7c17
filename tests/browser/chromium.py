"""Drives a headless Chromium over a pipe with the DevTools protocol: no driver, no port, no
library.

Protocol: https://chromedevtools.github.io/devtools-protocol/; with `--remote-debugging-pipe` the
browser reads JSON messages from file descriptor 3 and writes them to 4, each terminated by a zero
byte.
"""

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",  # containers give /dev/shm 64 MB
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
TIMEOUT_S = 60.0
# How many texts are checked, and those with a contrast below 4.5 to 1.
CONTRASTS = """(() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const bright = (c) => c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (e) => { for (; e; e = e.parentElement) {
    const c = channels(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };
  const faint = []; let checked = 0;
  for (const e of document.querySelectorAll('main *:not(svg *):not(.again)')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
        || !e.getClientRects().length) continue;
    checked += 1;
    const [a, b] = [bright(channels(getComputedStyle(e).color)), bright(behind(e))]
      .sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5)
      faint.push(e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40));
  }
  return { checked, faint };
})()"""
MIDDLE = """(() => { const e = document.querySelector(%s);
  e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"""
KEYS = {"Enter": ("Enter", 13, "\r"), " ": ("Space", 32, " "), "Tab": ("Tab", 9, "")}


class ChromiumError(RuntimeError):
    """The browser didn't start or answer, or a script in the page threw."""


def program() -> str | None:
    """The path of a Chromium, None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser process with a fresh profile, and one page at a time; a context manager. `events`
    holds what the page requested and complained about."""

    def __init__(self, path: str, profile: Path) -> None:
        """Start the program `path` with the folder `profile`. Raises ChromiumError, OSError."""
        self.events: list[dict[str, Any]] = []
        self._number, self._rest, self._page, self._session = 0, b"", "", ""
        reads, self._out = os.pipe()
        self._in, writes = os.pipe()
        # The shell moves both out of the way first: either may itself be 3 or 4.
        script = f'exec 8<&{reads} 9>&{writes}; exec 3<&8 4>&9 8<&- 9>&-; exec "$@"'
        command = ["bash", "-c", script, "bash", path, *FLAGS, f"--user-data-dir={profile}"]
        nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self._process = subprocess.Popen(command, pass_fds=(reads, writes), **nothing)
        os.close(reads)
        os.close(writes)

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)  # ends the browser
        os.close(self._in)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def open(
        self,
        url: str,
        width: int = 1200,
        height: int = 900,
        *,
        script: bool = True,
        scheme: str = "light",
    ) -> None:
        """Show `url` in a fresh page instead of the last one, and wait for its load event."""
        before = self._page
        self._page = self.send("Target.createTarget", url="about:blank")["targetId"]
        if before:
            self.send("Target.closeTarget", targetId=before)
        self.events.clear()
        attached = self.send("Target.attachToTarget", targetId=self._page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        # Narrow viewports are phones, which obey <meta name=viewport>.
        size = {"width": width, "height": height, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1)
        self.send("Emulation.setScriptExecutionDisabled", value=not script)
        self.media(scheme=scheme)
        self.send("Page.navigate", url=url)
        self._wait_for("Page.loadEventFired")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the page or the browser and return its result; messages that arrive
        before it go to `events`. Raises ChromiumError."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if not method.startswith(("Browser.", "Target.")):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._receive(method)).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise ChromiumError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def _wait_for(self, method: str, **expected: Any) -> dict[str, Any]:
        """The parameters of the first event `method`, past or future, that has the `expected`
        ones."""
        while True:
            for params in self._events(method):
                if expected.items() <= params.items():
                    return params
            self.events.append(self._receive(method))

    def _receive(self, what: str) -> dict[str, Any]:
        until = time.monotonic() + TIMEOUT_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise ChromiumError(
                    f"{what}: Chromium ended, or gave no answer within {TIMEOUT_S:.0f} s"
                )
            self._rest += data
        line, self._rest = self._rest.split(b"\0", 1)
        return json.loads(line)

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """Emulate a medium ("print") and a preferred colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=kind, features=features)

    def run(self, script: str) -> Any:
        """The JSON-ready value of a JavaScript expression in the page. Raises ChromiumError if it
        fails."""
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise ChromiumError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Click the middle of the first element that matches `selector` with the mouse."""
        x, y = self.run(MIDDLE % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key of KEYS in the focused element."""
        code, number, text = KEYS[key]
        common = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        self.send(
            "Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {})
        )
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def download(self, selector: str, folder: Path) -> Path:
        """Click a link and return the file that it downloads into `folder`."""
        place = {"behavior": "allow", "downloadPath": str(folder), "eventsEnabled": True}
        self.send("Browser.setDownloadBehavior", **place)
        self.click(selector)
        begun = self._wait_for("Browser.downloadWillBegin")
        self._wait_for("Browser.downloadProgress", guid=begun["guid"], state="completed")
        return folder / begun["suggestedFilename"]

    def _events(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event["method"] == method]

    def complaints(self) -> list[str]:
        """Errors and warnings in the page's console, exceptions, and the browser's own log."""
        entries = [event["entry"] for event in self._events("Log.entryAdded")]
        logged = [entry["text"] for entry in entries if entry["level"] in ("error", "warning")]
        calls = [
            call
            for call in self._events("Runtime.consoleAPICalled")
            if call["type"] in ("error", "warning")
        ]
        return logged + [
            json.dumps(event) for event in (*calls, *self._events("Runtime.exceptionThrown"))
        ]

    def requests(self) -> list[str]:
        """Every URL that the page requested, its own first."""
        return [sent["request"]["url"] for sent in self._events("Network.requestWillBeSent")]
