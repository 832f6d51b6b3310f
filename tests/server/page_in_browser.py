#!/usr/bin/env python3
"""The page to try a model, in headless Chromium through its driver: fills the form, reads the changed answer, and looks for
errors, for markup made of names, and for requests that leave the page's own server. Skipped (exit code 77) without a browser.
Usage: page_in_browser.py PATH_OF_L0GM_SERVE"""
import json
import os
import sys
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from browser import Browser, skip_without_browser  # noqa: E402
from running_server import LOOKUP, MODEL, TOKEN, ServerCase, rewritten  # noqa: E402


class Page(ServerCase):
    def browse(self, *arguments, environment=None):
        self.start(*arguments, environment=environment)
        self.browser = Browser(self.folder)
        self.addCleanup(self.browser.close)
        self.browser.open(f"http://127.0.0.1:{self.port}/")

    def nothing_went_wrong(self):
        self.assertEqual([entry["message"] for entry in self.browser.entries("browser")], [])
        own = f"http://127.0.0.1:{self.port}/"
        asked = [message["params"] for message in (json.loads(entry["message"])["message"] for entry in self.browser.entries("performance"))
                 if message["method"] == "Network.requestWillBeSent"]
        from_page = [request["request"]["url"] for request in asked if request.get("documentURL", "").startswith(own)]
        self.assertGreater(len(from_page), 3)
        self.assertEqual([address for address in from_page if not address.startswith((own, "data:"))], [])

    def test_the_form_changes_the_answer(self):
        self.browse(self.copy(MODEL))
        shown = "document.getElementById('top-share').textContent"
        before = self.browser.wait(shown)
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#form label')].map(e => e.firstChild.textContent.trim())"),
                         ["age", "angle", "colour", "city", "tags", "weight"])
        options = self.browser.run("return [...document.querySelectorAll('#field-2 option')].map(e => e.textContent)")
        self.assertEqual(options, ["red", "green", "sky blue", "(missing)"])
        self.browser.run("const e = document.getElementById('field-2'); e.value = '1'; e.dispatchEvent(new Event('change'))")
        self.browser.run("const e = document.getElementById('field-0'); e.value = '72'; e.dispatchEvent(new Event('input'))")
        self.browser.wait(f"{shown} !== {json.dumps(before)}")
        row = self.browser.run("return row()")
        self.assertEqual((row["colour"], row["age"]), ("green", 72))
        wanted = self.predict(json.dumps({"rows": [row]}).encode())[1]
        self.assertEqual(self.browser.run("return document.getElementById('top-class').textContent"), wanted["predictions"][0])
        self.assertEqual(self.browser.run("return " + shown), f"{100 * max(wanted['probabilities'][0]):.1f} %")
        self.nothing_went_wrong()

    def test_changing_one_field_is_shown(self):
        self.browse(self.copy(MODEL))
        effects = self.browser.wait("document.querySelectorAll('#effects button').length")
        self.assertGreaterEqual(effects, 4)
        self.browser.run("[...document.querySelectorAll('#effects button')].find(e => e.dataset.column === 'colour').click()")
        self.browser.wait("document.querySelectorAll('#chart rect.column-bar').length === 3")
        self.assertIn("colour", self.browser.run("return document.querySelector('#chart svg').getAttribute('aria-label')"))
        self.browser.run("[...document.querySelectorAll('#effects button')].find(e => e.dataset.column === 'age').click()")
        self.browser.wait("document.querySelectorAll('#chart path.curve').length === 1")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#chart-table tbody tr').length"),
                         self.browser.run("return fields[0].points.length"))
        self.nothing_went_wrong()

    def test_hostile_names_are_shown_as_text(self):
        hostile = "<img src=x onerror=\"document.title='taken'\"></script><b id=taken>"

        def change(manifest):
            manifest["schema"]["columns"][0]["name"] = hostile
            manifest["schema"]["classes"] = [hostile + name for name in "klm"]
            manifest["schema"]["fields"][3]["vocabulary"][0] = hostile
            manifest["schema"]["label"] = hostile
            manifest["about"] = {"closed_columns": [hostile, "__proto__"], "gate": {"units": 4, "open_units": 2, "active_fraction": .5, "units_are": hostile},
                                 "figures": {"test": {"rows": hostile, "accuracy": .5}}}

        self.browse(rewritten(MODEL, self.folder + "/m.l0gm", change))
        self.browser.wait("document.querySelectorAll('#effects button').length")
        self.assertEqual(self.browser.run("return document.querySelectorAll('main img, main b[id], #taken').length"), 0)
        self.assertNotEqual(self.browser.run("return document.title"), "taken")
        self.assertEqual(self.browser.run("return document.querySelector('#form label').firstChild.textContent"), hostile + " ")
        self.assertIn(hostile, self.browser.run("return document.getElementById('top-class').textContent"))
        self.assertEqual(self.browser.run("return document.querySelector('#closed li').textContent"), hostile)
        self.nothing_went_wrong()

    def test_several_models_and_a_phone(self):
        self.browse(self.copy(MODEL), self.copy(LOOKUP, "node.l0gm"))
        self.browser.wait("document.querySelectorAll('#models option').length === 2")
        self.browser.run("const e = document.getElementById('models'); e.value = 'node'; e.dispatchEvent(new Event('change'))")
        self.browser.wait("document.getElementById('title').textContent === 'node'")
        self.browser.wait("document.querySelectorAll('#scores li').length === 4")
        self.browser.call("POST", self.browser.session + "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": True}})
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)
        self.nothing_went_wrong()

    def test_a_token_is_asked_for(self):
        self.browse(self.copy(MODEL), environment={"L0GM_TOKEN": TOKEN})
        self.browser.wait("!document.getElementById('token-card').hidden")
        self.browser.run("document.getElementById('token').value = arguments[0]; document.querySelector('#token-form button').click()", TOKEN)
        self.browser.wait("document.getElementById('top-share').textContent")
        self.assertTrue(self.browser.run("return document.getElementById('token-card').hidden"))


if __name__ == "__main__":
    skip_without_browser()
    unittest.main()
