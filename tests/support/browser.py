"""Headless Chromium through its driver, for the tests of pages: standard library only."""
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request

DRIVER = shutil.which("chromedriver")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def skip_without_browser():
    """Ends the program with the exit code that ctest takes for a skipped test."""
    if DRIVER is None or BROWSER is None:
        print("skipped: chromium and chromedriver are not installed (Debian: chromium, chromium-driver)")
        sys.exit(77)


class Browser:
    """As much of the WebDriver protocol as is needed here."""

    def __init__(self, folder):
        self.log = open(os.path.join(folder, "driver.txt"), "w+b")
        self.driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=self.log)
        for line in self.driver.stdout:
            if b"on port" in line and b"started successfully" in line:
                self.address = "http://127.0.0.1:" + line.decode().rsplit("port", 1)[1].strip(" .\n")
                break
        options = {"binary": BROWSER, "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder + "/profile"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["value"]

    def open(self, address):
        self.call("POST", self.session + "/url", {"url": address})

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, seconds=20):
        """Until the script gives something true, which is returned."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run("return " + script)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"waited in vain for {script}: " + self.run("return document.body.innerText"))

    def entries(self, kind):
        return self.call("POST", self.session + "/se/log", {"type": kind})

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.kill()
            self.driver.wait()
            self.driver.stdout.close()
            self.log.close()

    def show_as(self, width, height=800, dark=False, phone=False):
        """The size of the window, and what the user prefers."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def command(self, name, **parameters):
        """Of Chromium's own protocol."""
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def requests(self, page):
        """Addresses that documents whose own address starts like that asked for since the last call."""
        messages = (json.loads(entry["message"])["message"] for entry in self.entries("performance"))
        asked = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [request["request"]["url"] for request in asked if request.get("documentURL", "").startswith(page)]
