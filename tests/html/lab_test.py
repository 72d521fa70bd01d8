"""The lab in a browser: every button and field, the numbers, keyboard, screens; and its arithmetic
against the program's own."""
import json
import math
import os
import random
import signal
import struct
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from browser import (BUILD, By, CLI, Keys, SCREENS, Select, WebDriverWait, browser, require,
                     require_contrast, require_fits, require_no_requests, require_quiet, screen,
                     type_into)

PANELS = ["roofline", "traffic", "tiling", "residency", "synchronization", "numerics", "kernels"]


class Panel:
    """One panel as it is on the screen."""

    def __init__(self, driver, name):
        self.driver, self.name = driver, name
        driver.find_element(By.ID, f"tab-{name}").click()
        self.node = driver.find_element(By.ID, f"panel-{name}")

    def find(self, selector):
        return self.node.find_element(By.CSS_SELECTOR, selector)

    def field(self, name):
        return self.node.find_element(By.ID, f"{self.name}-{name}")

    def type(self, name, text):
        type_into(self.field(name), text)

    def choose(self, name, value):
        Select(self.field(name)).select_by_value(value)

    def click(self, button):
        self.find(f"button.{button}").click()

    def text(self, selector):
        return self.find(selector).text

    def predict(self, value):
        guess = self.field("prediction")
        if guess.tag_name == "select":
            Select(guess).select_by_value(value)
        else:
            type_into(guess, value)
        self.click("check")
        return self.text(".verdict")


def every_button(driver, name):
    panel = Panel(driver, name)
    require("after your prediction" in panel.text(".answer"), f"{name}: the answer shows at once")
    panel.click("check")
    require("prediction first" in panel.text(".verdict"), f"{name}: an empty prediction is taken")
    require("after your prediction" in panel.text(".answer"), f"{name}: an empty prediction counts")
    first = panel.text(".place")
    panel.click("step")
    require(panel.text(".place") != first, f"{name}: Step does nothing")
    panel.click("play")
    require(panel.text(".play") in ("Pause", "Play"), f"{name}: no Play")
    if panel.text(".play") == "Pause":
        panel.click("play")
    require(panel.text(".play") == "Play", f"{name}: Play does not pause")
    panel.click("show")
    require(len(panel.node.find_elements(By.CSS_SELECTOR, ".answer dt")) >= 3, f"{name}: no answer")
    options = panel.node.find_elements(By.CSS_SELECTOR, ".option")
    verdicts = []
    for option in options:
        option.click()
        reasoning = panel.text(".reasoning")
        require(len(reasoning) > 40, f"{name}: an answer without its reasoning")
        verdicts.append(reasoning.startswith("Yes."))
    require(verdicts.count(True) == 1, f"{name}: {verdicts.count(True)} right answers")
    panel.click("reset")
    require("after your prediction" in panel.text(".answer"), f"{name}: Reset keeps the answer")
    require(panel.text(".place") == first, f"{name}: Reset keeps the step")
    require(panel.text(".reasoning") == "", f"{name}: Reset keeps the question's answer")


def copy_rate(name):
    """GB/s of a device model, as the program lists it."""
    listed = subprocess.run([CLI, "devices", "--json", "--no-measure"], check=True,
                            capture_output=True, text=True)
    return next(m["copy_gbs"] for m in json.loads(listed.stdout)["models"] if m["name"] == name)


def roofline(driver):
    panel = Panel(driver, "roofline")
    for intensity, rate in (("2", "200"), ("4", "400"), ("50", "1,000")):
        panel.click("reset")
        panel.type("intensity", intensity)
        panel.type("bandwidth", "100")
        verdict = panel.predict(rate.replace(",", ""))
        require(verdict.startswith("Right.") and f"{rate} GFLOP/s" in verdict, verdict)
        require(f"{rate} GFLOP/s" in panel.text(".answer dd"), panel.text(".answer"))
    panel.click("reset")
    require(panel.predict("150").startswith("Not quite."), "150 GFLOP/s is taken for right")
    panel.click("step")
    require("400 GFLOP/s" in panel.text(".say"), panel.text(".say"))
    panel.type("intensity", "-3")
    require(panel.field("intensity").get_attribute("aria-invalid") == "true", "-3 is taken")
    require("1,000" in panel.text("#roofline-intensity-problem"), "no word on the range")
    panel.choose("device", "h200")
    shown = float(panel.field("bandwidth").get_property("value"))
    require(shown == copy_rate("h200"), f"{shown} GB/s is not the h200's copy")
    for evidence in ("registers", "spills", "counters", "time"):
        require(evidence in panel.text(".more"), f"no word on {evidence}")
    slider = panel.find("input[type=range]")
    before = panel.field("intensity").get_property("value")
    slider.send_keys(Keys.ARROW_RIGHT)
    require(panel.field("intensity").get_property("value") != before, "the slider moves nothing")
    panel.click("reset")


def traffic(driver):
    panel = Panel(driver, "traffic")
    verdict = panel.predict("4000000")
    require(verdict.startswith("Right.") and "4,000,000 B (4 MB)" in verdict, verdict)
    cases = [({"count": "1000000", "stages": "4"}, "none", "12,000,000 B"),
             ({"count": "1000000", "stages": "1"}, "none", "0 B"),
             ({"stages": "2"}, "kept", "2,000,000 B"),        # the read by f2
             ({"stages": "2"}, "recomputed", "4,000,000 B"),  # t1's write and read; g reads x for t1
             ({"stages": "2"}, "together", "6,000,000 B"),
             ({"stages": "2", "spill": "1"}, "none", "0 B"),
             ({"stages": "2", "spill": "2"}, "none", "-4,000,000 B")]
    for fields, consumer, avoided in cases:
        panel.click("reset")
        for name, text in fields.items():
            panel.type(name, text)
        panel.choose("consumer", consumer)
        panel.click("show")
        row = panel.node.find_elements(By.CSS_SELECTOR, ".answer dd b")[2].text
        require(row.startswith(avoided), f"{fields} {consumer}: {row}, not {avoided}")
    panel.click("reset")
    panel.click("show")
    require("down to 0 on h200" in panel.text(".answer"), "“at most” is not explained")
    for _ in range(2):
        panel.click("step")
    moved = [node.text for node in panel.node.find_elements(By.CSS_SELECTOR, ".lane-total")]
    require(moved == ["8 MB moved", "4 MB moved"], moved)
    panel.click("reset")


def tiling(driver):
    panel = Panel(driver, "tiling")
    verdict = panel.predict("64")
    require(verdict.startswith("Right."), verdict)
    require("4,294,967,296 B" in panel.text(".answer"), panel.text(".answer"))
    require("67,108,864 B" in panel.text(".answer"), panel.text(".answer"))
    panel.type("tile", "256")
    require("too much" in panel.text(".answer") and "fits is 128" in panel.text(".answer"),
            panel.text(".answer"))
    panel.click("reset")
    panel.click("show")
    panel.find("figure").send_keys(Keys.ARROW_LEFT)  # the last step: both have read everything
    moved = [node.text for node in panel.node.find_elements(By.CSS_SELECTOR, ".lane-total")]
    require(moved == ["read 4.295 GB", "read 67.11 MB"], moved)
    panel.click("reset")


def residency(driver):
    panel = Panel(driver, "residency")
    require(panel.text(".place") == "step 0", f"{panel.text('.place')}: tells how many blocks fit")
    verdict = panel.predict("5")
    require(verdict.startswith("Right."), verdict)
    require("62.5 %" in panel.text(".answer"), panel.text(".answer"))
    panel.field("capped").click()
    require("5 → 8 blocks" in panel.text(".answer"), panel.text(".answer"))
    require("56 B a thread" in panel.text(".answer"), panel.text(".answer"))  # 14 registers
    panel.click("reset")
    # The whole grid, against occupancy() of src/plan/device_model.cpp.
    environment = {key: value for key, value in os.environ.items() if key != "GTEST_OUTPUT"}
    subprocess.run([BUILD / "tests/html/page_test", "--gtest_filter=Occupancy.Table"], check=True,
                   env=environment, stdout=subprocess.DEVNULL)
    rows = json.loads((BUILD / "tests/html/occupancy.json").read_text())
    wrong = driver.execute_script("""
      const { devices, occupancy_rules: rules } = ingot.dom.data();
      return arguments[0].filter(([name, threads, registers, shared, ...expected]) => {
        const device = devices.find((row) => row.name === name);
        const { blocks, occupancy, limit, by } = ingot.occupancy(device, rules, threads, registers, shared);
        const found = [blocks, occupancy, limit, by.threads, by.blocks, by.registers, by.shared];
        return found.some((value, index) => value !== expected[index]);
      })""", rows)
    require(len(rows) > 10000 and not wrong, f"{len(wrong)} of {len(rows)} differ: {wrong[:3]}")


def synchronization(driver):
    panel = Panel(driver, "synchronization")
    for _ in range(4):
        panel.click("step")
    require("taking the total" in panel.text(".say") and "9" not in panel.text(".say"), panel.text(".say"))
    verdict = panel.predict("small")
    require(verdict.startswith("Right.") and "takes 9" in verdict and "23" in verdict, verdict)
    outcomes = {("spin", "6", "4"): "never ends", ("spin", "4", "4"): "right total",
                ("block_barrier", "4", "4"): "right total", ("kernel_boundary", "8", "1"): "right total",
                ("last_arriving", "8", "3"): "right total", ("cluster", "6", "4"): "refused",
                ("cluster", "4", "4"): "right total", ("cooperative", "6", "4"): "refused",
                ("cooperative", "6", "6"): "right total"}
    for (design, blocks, resident), outcome in outcomes.items():
        panel.click("reset")
        panel.choose("design", design)
        panel.type("blocks", blocks)
        panel.type("resident", resident)
        panel.click("show")
        require(outcome in panel.text(".answer dd"), f"{design} {blocks} {resident}: {panel.text('.answer')}")
    panel.click("reset")


def numerics(driver):
    panel = Panel(driver, "numerics")
    verdict = panel.predict("0")
    require(verdict.startswith("Right.") and "y = 1" in verdict, verdict)
    panel.type("a", "nonsense")
    require(panel.field("a").get_attribute("aria-invalid") == "true", "nonsense is a number")
    panel.choose("form", "contraction")
    require("y = 0;" in panel.text(".verdict"), panel.text(".verdict"))  # 0.1 * 10 - 1
    require("1.4901161193847656e−8" in panel.text(".answer"), panel.text(".answer"))
    panel.click("reset")


def write_npy(path, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}f", *values))


def read_npy(path):
    data = path.read_bytes()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return list(struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:]))


def operands(seed, count=3000):
    """f32 values that meet ties, subnormals, overflow, zeros of both signs, infinities, NaN."""
    rng = random.Random(seed)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 256.0, 257.0, 3e38, -3e38,
               1e-38, 1e-40, 1e-45, -1e-45, 0.1, 10.0, 1.00390625, 1.001953125]
    def one():
        kind = rng.randrange(4)
        if kind == 0:
            return rng.choice(special)
        if kind == 1:
            return float(rng.randrange(-600, 600))
        exponent = rng.randrange(-130, 127) if kind == 2 else rng.randrange(-4, 5)
        return math.ldexp(rng.choice((-1, 1)) * (1 + rng.randrange(1 << 23) / (1 << 23)), exponent)
    return [struct.unpack("<f", struct.pack("<f", one()))[0] for _ in range(count)]


def bits(value):
    return "nan" if math.isnan(value) else struct.pack("<f", value).hex()


def against_the_program(driver, folder):
    """The panel's arithmetic on thousands of operands, against `ingot run`."""
    columns = [operands(seed) for seed in (1, 2, 3)]
    for name, values in zip("xab", columns):
        write_npy(folder / f"{name}.npy", values)
    text = {"fma": "f32", "apart": "f32"}
    bodies = {"fma": "y = fma(x, a, b)", "apart": "t = mul(x, a)\n  y = add(t, b)"}
    for first in ("add", "sub", "mul"):
        for second in ("add", "sub", "mul"):
            bodies[f"{first}_{second}"] = f"t = {first}(x, a)\n  y = {second}(t, b)"
            text[f"{first}_{second}"] = "bf16"
    rows = [[str(value) for value in row] for row in zip(*columns)]
    for name, body in bodies.items():
        kind = text[name]
        (folder / f"{name}.ingot").write_text(
            f"graph g(x: {kind}[N], a: {kind}[N], b: {kind}[N]) {{\n  {body}\n  return y\n}}\n")
        for mode in ("exact", "wide"):
            subprocess.run([CLI, "run", f"{name}.ingot", "--device", "cpu", "--numerics", mode, "--out", mode,
                            *[f"--input={operand}={operand}.npy" for operand in "xab"]],
                           check=True, cwd=folder, capture_output=True)
            expected = read_npy(folder / mode / "y.npy")
            found = driver.execute_script("""
              const [rows, name, mode] = arguments;
              const { FORMATS: { bf16, f32 }, parse, round, add, subtract, multiply, fusedMultiplyAdd, toNumber } = ingot.exact;
              const ops = { add, sub: subtract, mul: multiply };
              const text = (value) => (Object.is(value, -0) ? '-0.0' : String(value));
              return rows.map((row) => {
                const format = name === 'fma' || name === 'apart' ? f32 : bf16;
                const [x, a, b] = row.map((value) => round(format, parse(value)));
                if (name === 'fma') return text(toNumber(round(f32, fusedMultiplyAdd(x, a, b))));
                if (name === 'apart') return text(toNumber(round(f32, add(round(f32, multiply(x, a)), b))));
                const [one, two] = name.split('_');
                const t = round(mode === 'exact' ? bf16 : f32, ops[one](x, a));
                const y = mode === 'exact' ? ops[two](t, b) : round(f32, ops[two](t, b));
                return text(toNumber(round(bf16, y)));
              })""", rows, name, mode)
            found = [float(value.replace("Infinity", "inf")) for value in found]
            wrong = [(row, one, other) for row, one, other in zip(rows, found, expected)
                     if bits(one) != bits(other)]
            require(not wrong, f"{name} {mode}: {len(wrong)} of {len(rows)} differ: {wrong[:3]}")


def keyboard(driver, page):
    """From the top of the page by keys alone."""
    driver.get("about:blank")
    driver.get(page)
    active = lambda: driver.switch_to.active_element
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    require(active().get_attribute("id") == "tab-roofline", "Tab does not begin at the tabs")
    active().send_keys(Keys.ARROW_RIGHT)
    require(active().get_attribute("id") == "tab-traffic", "arrow keys do not go along the tabs")
    require(driver.find_element(By.ID, "panel-traffic").is_displayed(), "the tab shows no panel")
    require(not driver.find_element(By.ID, "panel-roofline").is_displayed(), "two panels show")
    active().send_keys(Keys.ARROW_LEFT)
    active().send_keys(Keys.END)
    require(active().get_attribute("id") == "tab-kernels", "End is not the last tab")
    active().send_keys(Keys.HOME)
    seen = []
    for _ in range(24):
        active().send_keys(Keys.TAB)
        seen.append(active().get_attribute("id") or active().get_attribute("class") or active().tag_name)
        outline = driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        require(outline != "none", f"{seen[-1]}: focus does not show")
        if active().tag_name == "figure":
            break
    order = [seen.index(name) for name in ("roofline-device", "roofline-intensity",
                                           "roofline-prediction", "check primary", "reset", "step")]
    require(order == sorted(order), f"focus goes {seen}")
    figure = active()
    place = lambda: driver.find_element(By.CSS_SELECTOR, "#panel-roofline .place").text
    figure.send_keys(Keys.ARROW_RIGHT)
    require(place() == "step 1 of 4", "arrow keys do not step")
    figure.send_keys(Keys.ARROW_LEFT)
    require(place() == "step 0 of 4", "arrow keys do not step back")
    figure.send_keys(Keys.SPACE)
    WebDriverWait(driver, 10).until(lambda _: place() != "step 0 of 4")
    figure.send_keys(Keys.SPACE)
    guess = driver.find_element(By.ID, "roofline-prediction")
    guess.send_keys("200", Keys.ENTER)
    require(driver.find_element(By.CSS_SELECTOR, "#panel-roofline .verdict").text.startswith("Right."),
            "Enter does not check")


def plays_to_the_end(driver):
    panel = Panel(driver, "traffic")
    panel.click("reset")
    panel.click("play")
    WebDriverWait(driver, 10).until(lambda _: panel.text(".play") == "Play")
    require(panel.text(".place") == "step 2 of 2", "Play stops early")


def screens(driver, page):
    for width, height, scheme in SCREENS:
        screen(driver, width, height, scheme, "reduce")
        driver.get("about:blank")
        driver.get(page)
        for name in PANELS:
            panel = Panel(driver, name)
            for revealed in (False, True):
                where = f"{name} at {width}, {scheme}, {'answer' if revealed else 'no answer'}"
                if revealed:
                    panel.click("show")
                    panel.find("figure").send_keys(Keys.ARROW_LEFT)
                require_fits(driver, where)
                require_contrast(driver, where)
    screen(driver, 1280, 900, "light")


def served(driver):
    """`ingot lab` until Ctrl-C."""
    server = subprocess.Popen([CLI, "lab"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[0]
        require(url.startswith("http://127.0.0.1:"), url)
        driver.get(url)
        require(driver.find_element(By.ID, "panel-roofline").is_displayed(), "no lab is served")
        for path, host, code in (("nothing", "", 404), ("", "elsewhere.example", 403)):
            request = urllib.request.Request(url + path, headers={"Host": host} if host else {})
            try:
                urllib.request.urlopen(request, timeout=10)
                require(False, f"/{path} for {host or 'us'} is answered")
            except urllib.error.HTTPError as error:
                require(error.code == code, f"/{path}: {error.code}")
    finally:
        server.send_signal(signal.SIGINT)
        require(server.wait(10) == 0, "Ctrl-C does not end it")


def wrong_calls(folder):
    taken = subprocess.Popen([CLI, "lab"], stdout=subprocess.PIPE, text=True)
    try:
        port = taken.stdout.readline().split()[0].rstrip("/").rsplit(":", 1)[1]
        for arguments, part in ((["--port", port], "--port takes another"), (["--port", "0"], "65535"),
                                (["--out", folder / "no" / "lab.html"], "lab.html"),
                                (["missing.onnx"], "missing.onnx")):
            result = subprocess.run([CLI, "lab", *arguments], capture_output=True, text=True, timeout=60)
            require(result.returncode == 2 and part in result.stderr,
                    f"lab {arguments}: {result.returncode}, {result.stderr}")
    finally:
        taken.terminate()
        require(taken.wait(10) == 0, "SIGTERM does not end it")


def your_kernels(driver, folder):
    """`ingot lab FILE`, on the CPU with measured times and for a GPU that is not here."""
    program = folder / "norm.ingot"
    program.write_text("graph norm(x: f32[R, 256], w: f32[256]) {\n  n = rms_norm(x, w)\n"
                       "  c = transpose(n, perm=[1, 0])\n  y = exp(n)\n  return y, c\n}\n")
    for options in (["--device", "cpu", "--measure"], ["--device", "h200"]):
        subprocess.run([CLI, "lab", program, "--dim", "R=512", *options, "--out", folder / "norm.html"],
                       check=True, capture_output=True)
        driver.get((folder / "norm.html").as_uri())
        panel = Panel(driver, "kernels")
        require("norm" in panel.text(".claim"), panel.text(".claim"))
        names = driver.execute_script(
            "return ingot.dom.data().explained.groups.map((group) => group.name)")
        shown = [node.text for node in panel.node.find_elements(By.CSS_SELECTOR, "tbody .link")]
        require(shown == names and names, f"{shown}, not {names}")
        panel.find("tbody .link").click()
        require(names[0] in panel.text(".say"), panel.text(".say"))
        panel.click("show")
        measured = "Measured\nnot yet" not in panel.text(".answer")
        require(measured == ("--measure" in options), panel.text(".answer"))
        require_quiet(driver, f"the lab with {options}")
    panel.find("tbody button:not(.link)").click()
    require(driver.find_element(By.ID, "panel-residency").is_displayed(), "Residency does not open")
    found = driver.execute_script("return ingot.dom.data().explained.groups[0].resources.registers")
    taken = driver.find_element(By.ID, "residency-registers").get_property("value")
    require(taken == str(found), f"{taken} registers, not {found}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([CLI, "lab", "--out", folder / "lab.html"], check=True, capture_output=True)
        page = (folder / "lab.html").as_uri()
        with browser() as driver:
            screen(driver, 1280, 900, "light")
            driver.get(page)
            for panel in PANELS:
                every_button(driver, panel)
            for check in (roofline, traffic, tiling, residency, synchronization, numerics):
                check(driver)
            against_the_program(driver, folder)
            plays_to_the_end(driver)
            keyboard(driver, page)
            screens(driver, page)
            require_quiet(driver, "the lab")
            require_no_requests(driver, page)
            served(driver)
            your_kernels(driver, folder)
            require_quiet(driver, "the served lab")
        wrong_calls(folder)


if __name__ == "__main__":
    main()
