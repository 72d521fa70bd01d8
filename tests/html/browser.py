"""A headless browser for the tests of the HTML pages, used as a person uses it."""
import contextlib
import os
import pathlib
import shutil
import sys

BUILD = pathlib.Path(os.environ["INGOT_CLI"]).parent
CLI = os.environ["INGOT_CLI"]
SOURCE = pathlib.Path(os.environ["INGOT_SOURCE_DIR"])
SKIPPED = 77  # ctest's code for it, cmake/folders.cmake
SCREENS = [(1280, 900, "light"), (1280, 900, "dark"), (390, 844, "light"), (390, 844, "dark")]

sys.path.insert(0, str(BUILD / "selenium"))  # scripts/selenium.sh puts it there


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    skip("Selenium is not here (scripts/selenium.sh installs it)")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    skip("Chromium is not here (scripts/install.sh browser installs it on Debian)")


@contextlib.contextmanager
def browser(downloads=None):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def screen(driver, width, height, scheme, motion="no-preference"):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": motion}]})


def require(condition, message):
    if not condition:
        raise AssertionError(message)


def require_quiet(driver, where):
    """No complaint on the console."""
    complaints = [entry["message"] for entry in driver.get_log("browser")]
    require(not complaints, f"{where}: console: {complaints}")


def require_fits(driver, where):
    """Nothing is wider than the screen, and no text of a drawing is cut at its edges."""
    width, page = driver.execute_script(
        "return [innerWidth, document.documentElement.scrollWidth]")
    require(page <= width, f"{where}: the page is {page} wide on a screen of {width}")
    cut = driver.execute_script("""
      return [...document.querySelectorAll('svg.fits text, figure svg text')].filter((text) => {
        const box = text.getBoundingClientRect();
        if (box.width === 0) return false;
        const frame = text.ownerSVGElement.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1;
      }).map((text) => text.textContent)""")
    require(not cut, f"{where}: cut text: {cut}")


def require_contrast(driver, where, least=4.5):
    """Text against what lies behind it, by the formula of WCAG 2."""
    faint = driver.execute_script("""
      const least = arguments[0];
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = 1;
      const context = canvas.getContext('2d', { willReadFrequently: true });
      const channels = (color) => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data];
      };
      const light = (color) => {
        const [r, g, b] = channels(color).slice(0, 3).map((value) => {
          const share = value / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (node) => {
        for (let at = node; at; at = at.parentElement) {
          const color = getComputedStyle(at).backgroundColor;
          if (channels(color)[3] > 250) return color;
        }
        return 'white';
      };
      const faint = [];
      for (const node of document.querySelectorAll('body *')) {
        if (node.namespaceURI.endsWith('svg') || !node.checkVisibility()) continue;
        if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
        const one = light(getComputedStyle(node).color), other = light(behind(node));
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < least) faint.push(`${ratio.toFixed(2)}: ${node.textContent.trim().slice(0, 40)}`);
      }
      return faint""", least)
    require(not faint, f"{where}: faint text: {faint[:5]}")


def require_no_requests(driver, page):
    """Nothing but the page itself was asked for."""
    import json
    asked = set()
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.add(message["params"]["request"]["url"].split("#")[0])
    asked = {url for url in asked if not url.startswith("data:")}
    require(asked <= {page}, f"asked for {asked - {page}}")


def type_into(field, text):
    """As a person does: the field's text is chosen, and typed over."""
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text)
