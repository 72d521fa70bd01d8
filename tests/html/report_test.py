"""HTML reports in a browser: graph, search, tables, sources, times; and the files beside them."""
import json
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

from browser import (By, CLI, Keys, SCREENS, Select, SOURCE, browser, require, require_contrast,
                     require_fits, require_no_requests, require_quiet, screen, type_into)


def ingot(*arguments):
    result = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True)
    require(result.returncode == 0, f"ingot {arguments}: {result.returncode}, {result.stderr}")
    return result.stdout


def texts(driver, selector):
    return [node.text for node in driver.find_elements(By.CSS_SELECTOR, selector)]


def explained(driver, folder):
    """A spelled-out normalization with two consumers, for a GPU that is not here."""
    program = folder / "two.ingot"
    program.write_text("graph two(x: f32[R, 512], gain: f32[512]) {\n"
                       "  raised = exp(x)\n"
                       "  scaled = mul(raised, gain)\n  total = sum(scaled, dims=[1], keepdims=true)\n"
                       "  share = div(scaled, total)\n  turned = transpose(raised, perm=[1, 0])\n"
                       "  y = cumsum(turned, dim=0)\n  return share, y\n}\n")
    page = folder / "two.html"
    report = json.loads(ingot("explain", program, "--dim", "R=4096", "--device", "h200", "--json", "--html", page))
    driver.get(page.as_uri())
    require(driver.title == "ingot: two", driver.title)
    header = driver.find_element(By.TAG_NAME, "header").text
    require("two on h200" in header and "R = 4096" in header, header)
    totals = report["totals"]
    tiles = " ".join(texts(driver, ".tile"))
    require(f"{totals['kernels_separate']} → {totals['kernels_fused']}" in tiles, tiles)
    require(f"{totals['bytes_saved']:,} B" in tiles, tiles)
    graph(driver, report)
    decisions(driver, report)
    kernels(driver, report)
    require(len(driver.find_elements(By.CSS_SELECTOR, "#roofline .point.fused")) ==
            sum(group["flops"] > 0 for group in report["groups"]), "points of the roofline")
    require(len(driver.find_elements(By.CSS_SELECTOR, "#timeline .span")) ==
            totals["kernels_separate"] + totals["kernels_fused"], "kernels of the timeline")
    require_quiet(driver, "explain")
    require_no_requests(driver, page.as_uri())
    return page


def graph(driver, report):
    drawn = driver.execute_script("""
      return [...document.querySelectorAll('.graph .node')].map((node) => node.querySelector('.node-name').textContent)""")
    require(sorted(drawn) == sorted(node["name"] for node in report["nodes"]), drawn)
    count = lambda kind: len(driver.find_elements(By.CSS_SELECTOR, f".graph .edge.{kind}"))
    operands = sum(len(set(node["operands"])) for node in report["nodes"])
    require(count("removed") + count("kept") + count("read") == operands, "an edge is missing")
    require(count("read") == 2, "x and gain are read once each")
    nothing_overlaps(driver, "two")
    titles = driver.execute_script(
        "return [...document.querySelectorAll('.edge.removed title')].map((title) => title.textContent)")
    saved = [decision for decision in report["decisions"] if decision["fused"] and decision["bytes_saved"]]
    require(saved and any(decision["detail"] in title for decision in saved for title in titles), titles)
    frame = driver.find_element(By.CSS_SELECTOR, ".graph")
    place = lambda: driver.execute_script("const { x, y, scale } = ingot.graph.view; return [x, y, scale]")
    before = place()
    for name in ("Zoom in", "Zoom out", "Fit the graph"):
        driver.find_element(By.CSS_SELECTOR, f"[aria-label='{name}']").click()
        if name == "Zoom in":
            require(place()[2] > before[2], "+ does not zoom in")
    frame.send_keys(Keys.ARROW_LEFT)
    require(place()[0] > before[0], "arrow keys do not pan")
    frame.send_keys("0")
    find = driver.find_element(By.CSS_SELECTOR, "#graph input[type=search]")
    type_into(find, "scaled")
    require(texts(driver, "#graph .found") == ["1 of 1"], texts(driver, "#graph .found"))
    current = driver.execute_script(
        "return document.querySelector('.current-node .node-name').textContent")
    require(current == "scaled", current)
    type_into(find, "nothing of this name")
    require(texts(driver, "#graph .found") == ["0 matches"], texts(driver, "#graph .found"))
    choice = Select(driver.find_element(By.CSS_SELECTOR, "#graph select"))
    choice.select_by_value("kernels")
    require(len(driver.find_elements(By.CSS_SELECTOR, ".graph .node")) == len(report["groups"]), "kernels")
    choice.select_by_value("ops")


def nothing_overlaps(driver, where):
    """No two nodes, labels of edges, or both lie on top of each other."""
    pairs = driver.execute_script("""
      const boxes = [...document.querySelectorAll('.graph .node rect, .graph .edge-label')].map((node) => node.getBoundingClientRect());
      let count = 0;
      boxes.forEach((one, i) => boxes.slice(i + 1).forEach((other) => {
        if (one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1) count += 1;
      }));
      return count""")
    require(pairs == 0, f"{where}: {pairs} pairs overlap")


def decisions(driver, report):
    rows = lambda: driver.find_elements(By.CSS_SELECTOR, "#decisions tbody tr")
    require(len(rows()) == len(report["decisions"]), "a decision is missing")
    for decision in report["decisions"]:
        require(any(decision["reason"] in row.text and decision["detail"] in row.text for row in rows()),
                f"{decision['reason']} is missing")
    driver.find_element(By.CSS_SELECTOR, "#decisions tbody .link").click()
    shown = driver.execute_script("return document.querySelector('.current-node .node-name').textContent")
    require(shown == report["decisions"][0]["consumer_op"], f"{shown} is shown in the graph")
    Select(driver.find_element(By.CSS_SELECTOR, "#decisions select")).select_by_value("no")
    refused = [decision for decision in report["decisions"] if not decision["fused"]]
    require(len(rows()) == len(refused) and refused, "the filter of yes and no")
    Select(driver.find_element(By.CSS_SELECTOR, "#decisions select")).select_by_value("")
    words = driver.find_element(By.CSS_SELECTOR, "#decisions input")
    type_into(words, "gain no such")
    require(not rows(), "the filter of words")
    words.send_keys(Keys.CONTROL, "a")
    words.send_keys(Keys.DELETE)
    saves = next(button for button in driver.find_elements(By.CSS_SELECTOR, "#decisions .sort") if button.text == "saves")
    saves.click()
    best = max(report["decisions"], key=lambda decision: decision["bytes_saved"])
    require(best["detail"] in rows()[0].text, "the largest saving is not first")
    saves.click()
    require(best["detail"] not in rows()[0].text, "sorting does not turn over")


def kernels(driver, report):
    rows = texts(driver, "#kernels tbody tr")
    for group, row in zip(report["groups"], rows):
        require(group["name"] in row and str(group["resources"]["registers"]) in row, row)
    driver.find_element(By.CSS_SELECTOR, "#kernels tbody .link").click()
    opened = driver.find_element(By.CSS_SELECTOR, f"#kernel-{report['groups'][0]['id']}")
    require(opened.get_attribute("open") is not None, "the source does not open")
    require("__global__" in opened.find_element(By.TAG_NAME, "pre").text, opened.text)
    for name in report["groups"][0]["ops"]:
        require(name in opened.text, f"{name} is missing")


def measured(driver, folder):
    page = folder / "measured.html"
    report = json.loads(ingot("explain", SOURCE / "examples/bias_gelu.ingot", "--dim", "B=64", "--device", "cpu",
                              "--measure", "--json", "--html", page))
    require(report["groups"][0]["measured_us"] > 0, "no time")
    driver.get(page.as_uri())
    require("not measured" not in " ".join(texts(driver, ".tile")), "the measured times are missing")
    require(len(driver.find_elements(By.CSS_SELECTOR, "#accuracy .bar")) == 2, "predicted and measured")
    require_quiet(driver, "explain --measure")
    return page


def large(driver, folder):
    """500 ops: drawn within two seconds, no two on top of each other."""
    rng = random.Random(5)
    names, lines = ["x"], []
    for i in range(500):
        near = lambda: rng.choice(names[-12:])
        lines.append(f"  v{i} = " + (f"{rng.choice(('add', 'mul'))}({near()}, {near()})" if rng.random() < 0.4
                                     else f"{rng.choice(('tanh', 'neg', 'sigmoid'))}({near()})"))
        names.append(f"v{i}")
    used = {name for line in lines for name in names if f"({name}" in line or f", {name})" in line}
    ends = [name for name in names[1:] if name not in used]
    program = folder / "large.ingot"
    program.write_text("graph large(x: f32[4096, 64]) {\n" + "\n".join(lines) + f"\n  return {', '.join(ends)}\n}}\n")
    page = folder / "large.html"
    report = json.loads(ingot("explain", program, "--device", "cpu", "--json", "--html", page))
    require(len(report["nodes"]) > 450, len(report["nodes"]))
    begin = time.time()
    driver.get(page.as_uri())
    drawn = len(driver.find_elements(By.CSS_SELECTOR, ".graph .node"))
    operands = sum(len(set(node["operands"])) for node in report["nodes"])
    edges = len(driver.find_elements(By.CSS_SELECTOR, ".graph .edge"))
    require(drawn >= len(report["nodes"]) and edges == operands, f"{drawn} nodes, {edges} edges")
    spent = driver.execute_script("return performance.timing.loadEventEnd - performance.timing.responseEnd")
    require(spent < 10000, f"{spent} ms to draw")
    print(f"large: {drawn} nodes drawn in {spent} ms, {time.time() - begin:.1f} s with the browser's start")
    nothing_overlaps(driver, "large")
    rows = lambda: len(driver.find_elements(By.CSS_SELECTOR, "#decisions tbody tr"))
    require(rows() == 400 < len(report["decisions"]), f"{rows()} of {len(report['decisions'])} decisions")
    driver.find_element(By.CSS_SELECTOR, "#decisions .rest").click()
    require(rows() == len(report["decisions"]), "not all decisions show")
    require_quiet(driver, "large")


def bench_and_tune(driver, folder):
    pages = [folder / "bench.html", folder / "tune.html"]
    report = json.loads(ingot("bench", SOURCE / "examples/bias_gelu.ingot", "--dim", "B=64", "--device", "cpu",
                              "--repeats", "7", "--json", "--html", pages[0]))
    driver.get(pages[0].as_uri())
    require(report["verdict"] in texts(driver, "#verdict")[0], texts(driver, "#verdict"))
    require(len(driver.find_elements(By.CSS_SELECTOR, "#kernel .bar")) == len(report["results"]), "bars")
    require_quiet(driver, "bench")
    require(not driver.find_elements(By.CSS_SELECTOR, "#counters"), "counters that nobody asked for")
    pages.insert(1, tuned(driver, folder))
    result = subprocess.run([CLI, "tune", SOURCE / "examples/softmax.ingot", "--dim", "B=256", "--device", "h200",
                             "--register-caps", "32,64", "--json", "--html", pages[-1]], capture_output=True, text=True)
    if result.returncode != 0:
        require("NVRTC" in result.stderr, result.stderr)
        print("tune: not looked at, there is no NVRTC")
        return pages[:2]
    report = json.loads(result.stdout)
    driver.get(pages[2].as_uri())
    rows = texts(driver, "tbody tr")
    require(len(rows) == sum(len(group["candidates"]) for group in report["groups"]), rows)
    require(rows[0].startswith("no cap") and rows[1].startswith("32"), rows)
    require_quiet(driver, "tune")
    return pages


def counted(driver, folder, page):
    """A report with a GPU's counters, made up: a row for each way and each of its kernels."""
    text = page.read_text()
    data = re.search(r'(<script[^>]*id="data"[^>]*>)(.*?)(</script>)', text, re.DOTALL)
    made = json.loads(data[2])
    made["report"]["results"][1]["counters"] = {
        "bytes_read": 2e6, "bytes_written": 1e6, "local_bytes": 4096,
        "kernels": [{"kernel": "add_gelu_rows", "bytes_read": 2e6, "bytes_written": 1e6, "local_bytes": 4096,
                     "occupancy": 0.615, "stalls": [{"reason": "long_scoreboard", "cycles_an_instruction": 12.5}]}]}
    made["report"]["results"][0]["counters"] = {
        "calls": 9, "cycles": 3e5, "instructions": 6e5, "cache_misses": 1e3, "bytes_by_cache_misses": 64e3}
    made["report"]["counters_problem"] = "made up"
    shown = folder / "counters.html"
    shown.write_text(text[:data.start(2)] + json.dumps(made) + text[data.end(2):])
    driver.get(shown.as_uri())
    rows = texts(driver, "#counters tbody tr")
    require(len(rows) == 3 and "600,000 instructions" in rows[0], rows)
    require("2 MB read, 1 MB written" in rows[1] and "long_scoreboard 12.5" in rows[2] and "61.5 %" in rows[2], rows)
    require("no counters: made up" in " ".join(texts(driver, "#table li")), texts(driver, "#table li"))
    require_quiet(driver, "counters")
    return shown


def swept(driver, folder):
    """Times over one size, with a line for each way; and over bytes where two sizes change."""
    pages = [folder / "sweep.html", folder / "sweep2.html"]
    program = SOURCE / "examples/bias_gelu.ingot"
    report = json.loads(ingot("bench", program, "--sweep", "B=1,8,64", "--device", "cpu", "--repeats", "7",
                              "--json", "--html", pages[0]))
    driver.get(pages[0].as_uri())
    require(report["verdict"] in texts(driver, "#verdict")[0], texts(driver, "#verdict"))
    rows = texts(driver, "#table tbody tr")
    require([row.split()[0] for row in rows] == ["1", "8", "64"], rows)
    for kind in ("separate", "fused"):
        require(len(driver.find_elements(By.CSS_SELECTOR, f"#chart .series.{kind} .mark")) == 3 + 1, kind)  # legend
    shown = driver.execute_script(
        "return [...document.querySelectorAll('#chart .series.fused .mark title')].map((title) => title.textContent)")
    require(any(title.startswith("fused, B = 64: ") for title in shown), shown)
    ticks = driver.execute_script("return [...document.querySelectorAll('#chart .tick')].map((tick) => tick.textContent)")
    require({"1", "8", "64"} <= set(ticks), ticks)
    places = driver.execute_script("""
      return [...document.querySelectorAll('#chart div .series.fused .mark')].map((mark) => mark.getBoundingClientRect())
        .map((box) => [box.x, box.y])""")
    times = [one["results"][1]["kernel_us"]["median"] for one in report["sweep"]]
    require([x for x, _ in places] == sorted(x for x, _ in places), places)
    require(abs((places[1][0] - places[0][0]) - (places[2][0] - places[1][0])) < 1, "the axis is not logarithmic")
    for (_, low), (_, high), one, other in zip(places, places[1:], times, times[1:]):
        require((low > high) == (one < other), f"{times} drawn at {places}")
    require_quiet(driver, "sweep")
    base = json.loads(json.dumps(report))
    for times in (one["results"][1]["kernel_us"] for one in base["sweep"]):
        for key in ("median", "low", "high"):
            times[key] *= 1e-3
        times["quartiles"] = [us * 1e-3 for us in times["quartiles"]]
    (folder / "base.json").write_text(json.dumps(base))
    compared = folder / "compared.html"
    result = subprocess.run([CLI, "bench", program, "--sweep", "B=1,8,64", "--device", "cpu", "--repeats", "7",
                             "--compare", folder / "base.json", "--html", compared], capture_output=True, text=True)
    require(result.returncode == 1, result)
    driver.get(compared.as_uri())
    slower = [row for row in texts(driver, "#comparison tbody tr") if row.endswith("slower") and row.startswith("fused")]
    require(len(slower) >= 3 and "B = 64" in slower[-1], slower)
    require("A regression: " in texts(driver, "#comparison .lead")[0], texts(driver, "#comparison .lead"))
    require_quiet(driver, "comparison")
    two = folder / "two_sizes.ingot"
    two.write_text("graph two(x: f32[R, C]) {\n  e = exp(x)\n  y = neg(e)\n  return y\n}\n")
    report = json.loads(ingot("bench", two, "--sweep", "R=4,32", "--sweep", "C=64,512", "--device", "cpu", "--repeats",
                              "7", "--json", "--html", pages[1]))
    driver.get(pages[1].as_uri())
    require(len(texts(driver, "#table tbody tr")) == 4, texts(driver, "#table tbody tr"))
    require("bytes of the fused program" in texts(driver, "#chart h2")[0], texts(driver, "#chart h2"))
    require_quiet(driver, "sweep of two sizes")
    return [*pages, compared]


def tuned(driver, folder):
    """Other forms of each group on the CPU, with a short budget."""
    page = folder / "forms.html"
    report = json.loads(ingot("tune", SOURCE / "examples/two_consumers.ingot", "--dim", "B=64", "--device", "cpu",
                              "--budget", "2", "--tuning", folder / "tuning.txt", "--json", "--html", page))
    driver.get(page.as_uri())
    rows = texts(driver, ".contest tbody tr")
    forms = [form for group in report["groups"] for form in group["forms"]]
    require(len(forms) > 1 and len(rows) == len(forms), rows)
    for form, row in zip(forms, rows):
        require(form["form"] in row and form["state"] in row, row)
    drawn = len(driver.find_elements(By.CSS_SELECTOR, ".contest .bar"))
    require(drawn == sum(form["us"]["median"] is not None for form in forms), f"{drawn} bars")
    require_quiet(driver, "tune")
    return page


def files_beside(folder):
    """--dot and --trace: what other programs read."""
    program = SOURCE / "examples/two_consumers_apart.ingot"
    report = json.loads(ingot("explain", program, "--device", "cpu", "--json", "--dot", folder / "g.dot",
                              "--trace", folder / "t.json"))
    dot = (folder / "g.dot").read_text()
    require(dot.startswith("digraph ") and dot.count("{") == dot.count("}"), dot)
    require(dot.count("subgraph cluster_") == len(report["groups"]), dot)
    edges = sum(len(node["operands"]) for node in report["nodes"])
    require(dot.count(" -> ") == edges, f"{dot.count(' -> ')} edges, not {edges}")
    trace = json.loads((folder / "t.json").read_text())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    require(len(spans) == len(report["groups"]) + len(report["separate_groups"]), spans)
    fused = [event for event in spans if event["tid"] == 2]
    require(abs(sum(event["dur"] for event in fused) - report["totals"]["predicted_us_fused"]) < 1e-6, fused)
    for one, two in zip(fused, fused[1:]):
        require(abs(one["ts"] + one["dur"] - two["ts"]) < 1e-9, "kernels overlap")
    result = subprocess.run([CLI, "explain", program, "--html", folder / "no" / "r.html"], capture_output=True, text=True)
    require(result.returncode == 2 and "r.html" in result.stderr, result.stderr)


def screens(driver, pages):
    for width, height, scheme in SCREENS:
        screen(driver, width, height, scheme, "reduce")
        for page in pages:
            driver.get(page.as_uri())
            driver.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            where = f"{page.name} at {width}, {scheme}"
            require_fits(driver, where)
            require_contrast(driver, where)
            require_quiet(driver, where)
    screen(driver, 1280, 900, "light")


def main():
    with tempfile.TemporaryDirectory() as name, browser() as driver:
        folder = Path(name)
        screen(driver, 1280, 900, "light")
        pages = [explained(driver, folder), measured(driver, folder), *bench_and_tune(driver, folder),
                 *swept(driver, folder), counted(driver, folder, folder / "bench.html")]
        large(driver, folder)
        screens(driver, pages)
        files_beside(folder)


if __name__ == "__main__":
    main()
