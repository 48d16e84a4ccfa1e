"""Chromium, as a person would use it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LIMIT = 120
WINDOW = (1360, 1000)


@contextmanager
def open_browser(site: str, folder: Path) -> Iterator[Browser]:
    """A browser with an empty profile. Skips where there is none, or no driver for it."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is missing: pip install --group browser")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or chromedriver is missing: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", f"--window-size={WINDOW[0]},{WINDOW[1]}"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={folder / 'profile'}")
    opened = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    opened.implicitly_wait(LIMIT)
    opened.set_page_load_timeout(LIMIT)
    try:
        yield Browser(opened, site, folder)
    finally:
        opened.quit()


class Browser:
    def __init__(self, driver: Any, site: str, folder: Path) -> None:
        self.driver = driver
        self.site = site
        self.folder = folder

    def open(self, path: str) -> None:
        self.driver.get(self.site + path)

    def find(self, css: str) -> Any:
        return self.driver.find_element("css selector", css)

    def fill(self, css: str, text: str) -> None:
        field = self.find(css)
        field.clear()
        field.send_keys(text)

    def click(self, css: str) -> None:
        """Click on what leads to another page, and wait until that is there."""
        before = self.find("html")
        self.find(css).click()
        self.until_gone(before)

    def until_gone(self, element: Any) -> None:
        from selenium.webdriver.support.expected_conditions import staleness_of
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, LIMIT).until(staleness_of(element))

    def choose(self, css: str, label: str) -> None:
        from selenium.webdriver.support.select import Select

        Select(self.find(css)).select_by_visible_text(label)

    @property
    def text(self) -> str:
        return str(self.find("body").text)

    def log_in(self, username: str, password: str) -> None:
        self.open("/admin/login/?next=/admin/")
        self.fill("#id_username", username)
        self.fill("#id_password", password)
        self.click("[type=submit]")

    def act(self, action: str, search: str) -> None:
        """Do this to everything on the list that matches."""
        self.fill("#searchbar", search)
        self.click("#changelist-search [type=submit]")
        self.find("#action-toggle").click()
        self.choose("select[name=action]", action)
        self.click("#changelist-form button[name=index], #changelist-form button[type=submit].button")

    def pick_user(self, username: str) -> None:
        self.find(".field-user .select2-selection").click()
        self.find(".select2-search__field").send_keys(username)
        self.driver.find_element(
            "xpath", f"//li[contains(@class, 'select2-results__option') and .='{username}']"
        ).click()

    def photograph(self, name: str) -> None:
        """In both schemes, the whole page."""
        for scheme in ("light", "dark"):
            self.driver.execute_script("document.documentElement.dataset.theme = arguments[0]", scheme)
            height = self.driver.execute_script("return document.documentElement.scrollHeight")
            self.driver.set_window_size(WINDOW[0], min(max(height + 150, WINDOW[1]), 4000))
            self.driver.save_screenshot(str(self.folder / f"{name}-{scheme}.png"))
        self.driver.set_window_size(*WINDOW)
        self.driver.execute_script("document.documentElement.dataset.theme = 'auto'")
