"""A headless Chromium, driven over its DevTools protocol by the standard library alone: --remote-debugging-pipe reads commands
from descriptor 3 and writes answers to descriptor 4, each a JSON text that ends with a zero byte."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
LONGEST_S = 60  # for one answer: a machine may be busy


def find():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page after the other; messages of the console, exceptions and requests are kept."""

    def __init__(self, path):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_us, to_us = os.pipe(), os.pipe()
        arguments = [path, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
                     "--hide-scrollbars", f"--user-data-dir={self.profile.name}", "about:blank"]
        # Both ends move out of the way first: the shell puts them where Chromium looks.
        command = ["sh", "-c", f'exec "$@" 3<&{from_us[0]} 4>&{to_us[1]}', "sh", *arguments]
        self.process = subprocess.Popen(command, pass_fds=(from_us[0], to_us[1]), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_us[0])
        os.close(to_us[1])
        self.out, self.into = from_us[1], to_us[0]
        self.buffer, self.events, self.number = b"", [], 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def close(self):
        os.close(self.out)
        os.close(self.into)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def message(self):
        end = time.monotonic() + LONGEST_S
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(0, end - time.monotonic()))
            read = os.read(self.into, 1 << 20) if ready else b""
            if not read:
                raise RuntimeError("the browser does not answer")
            self.buffer += read
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        text = json.dumps(command).encode() + b"\0"
        while text:
            text = text[os.write(self.out, text):]
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, script=True, dark=False, width=1280):
        """Loads a page; its events begin anew."""
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.load("about:blank")  # a page that differs in its hash alone is not loaded again
        self.events = []
        self.load(url)

    def load(self, url):
        loader = self.call("Page.navigate", url=url)["loaderId"]
        wanted = {"name": "load", "loaderId": loader}
        end = time.monotonic() + LONGEST_S
        while not any(event.get("method") == "Page.lifecycleEvent" and wanted.items() <= event["params"].items()
                      for event in self.events):
            if time.monotonic() > end:
                raise RuntimeError(f"{url} does not load")
            self.events.append(self.message())

    def evaluate(self, expression):
        """The value of an expression of JavaScript in the page; works where the page's own scripts are off, too."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def troubles(self):
        """Errors and warnings of the console, exceptions, and what the policy of the page refused."""
        self.evaluate("1")  # what was said until now has arrived
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
            if method == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
                found.append(str(parameters["args"]))
        return found

    def requests(self):
        """Addresses that were asked for."""
        self.evaluate("1")
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def screenshot(self, path, height=None):
        """The page as wide as it is and from its top, as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height or size["height"]), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
