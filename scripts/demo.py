#!/usr/bin/env python3
"""The demo: Google's Magika file-type model, compiled by ingot, on files of this machine.

Downloads the model once (the Python package `magika` holds it), then runs build/examples/magika.
Without PATH arguments it picks files of many kinds, and makes the kinds the machine lacks.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
WANTED = (".pdf", ".html", ".xml", ".svg", ".jpg", ".ttf", ".js", ".css", ".yaml", ".json", ".pl")


def find_wheel(folder):
    wheels = sorted(folder.glob("magika-*.whl"), key=lambda path: path.stat().st_mtime)
    return wheels[-1] if wheels else None


def fetch_wheel(folder):
    """The package's file in `folder`; downloaded if it is not there yet."""
    if wheel := find_wheel(folder):
        return wheel
    print("demo: downloading the Magika model (16 MB)", flush=True)
    result = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
         "--disable-pip-version-check", "--dest", folder, "magika"],
        capture_output=True, text=True)
    wheel = find_wheel(folder)
    if result.returncode != 0 or not wheel:
        lines = (result.stderr.strip() or "pip printed nothing").splitlines()
        sys.exit(f"error: `pip download magika` failed: {lines[-1]}\n"
                 "The demo needs a network for its first run. Elsewhere, run `pip download magika "
                 f"--no-deps` and copy the .whl into {folder}.")
    return wheel


def unpack(wheel, folder):
    """model.onnx and labels.txt (one label a line, in the order of the model's output)."""
    model, labels = folder / "model.onnx", folder / "labels.txt"
    with zipfile.ZipFile(wheel) as archive:
        models = [name for name in archive.namelist() if name.endswith("/model.onnx")]
        if not models:
            sys.exit(f"error: no model.onnx in {wheel}")
        newest = max(models, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
        home = newest.rsplit("/", 1)[0]
        config = next(name for name in archive.namelist()
                      if name.startswith(home + "/config") and name.endswith(".json"))
        model.write_bytes(archive.read(newest))
        names = json.loads(archive.read(config))["target_labels_space"]
    labels.write_text("\n".join(names) + "\n", encoding="utf-8")
    print(f"demo: {newest}: {model.stat().st_size:,} bytes, {len(names)} labels", flush=True)
    return model, labels


def png(data, width=256):
    """A grey picture of the bytes of a file."""
    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body +
                struct.pack(">I", zlib.crc32(kind + body)))

    height = len(data) // width
    rows = b"".join(b"\0" + data[row * width:(row + 1) * width] for row in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def make_samples(folder, program):
    """Kinds that a small machine may lack, made of real content."""
    folder.mkdir(exist_ok=True)
    text = (ROOT / "LICENSE").read_bytes()
    (folder / "program.png").write_bytes(png(program.read_bytes()[:65536]))
    (folder / "licence.gz").write_bytes(gzip.compress(text, mtime=0))
    with zipfile.ZipFile(folder / "sources.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((ROOT / "src").rglob("*.h"))[:20]:
            archive.write(path, path.relative_to(ROOT))
    return [folder / name for name in ("program.png", "licence.gz", "sources.zip")]


def first_of_each_kind(folder, suffixes):
    """The first file of each suffix under a system folder, none bigger than 4 MB."""
    found = {}
    for directory, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            suffix = os.path.splitext(name)[1]
            path = pathlib.Path(directory, name)
            if suffix in suffixes and suffix not in found and path.is_file() and \
                    1024 <= path.stat().st_size <= 4 << 20:
                found[suffix] = path
        if len(found) == len(suffixes):
            break
    return [found[suffix] for suffix in suffixes if suffix in found]


def pick_files(folder):
    ours = [ROOT / name for name in ("README.md", "CMakeLists.txt", "Makefile", "scripts/install.sh",
                                     "scripts/demo.py", "include/ingot/ingot.h")]
    ours += sorted((ROOT / "src").glob("*/*.cpp"))[:1]
    program = next((path for path in map(pathlib.Path, ("/bin/ls", "/usr/bin/env", sys.executable))
                    if path.exists()), None)
    files = [path for path in ours if path.exists()]
    if program:
        files += [program, *make_samples(folder / "samples", program)]
    return files + first_of_each_kind("/usr/share", WANTED)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="PATH")
    args = parser.parse_args()

    program = args.build.resolve() / "examples" / "magika"
    if not program.exists():
        sys.exit(f"error: {program} is missing: run `make build`")
    folder = args.build.resolve() / "demo"
    folder.mkdir(exist_ok=True)
    model, labels = unpack(fetch_wheel(folder), folder)
    paths = args.paths or pick_files(folder)
    if missing := [str(path) for path in paths if not path.exists()]:
        sys.exit(f"error: no such file: {', '.join(missing)}")
    print(f"demo: {program.name} on {len(paths)} files", flush=True)
    sys.exit(subprocess.run([program, "--model", model, "--labels", labels, *paths]).returncode)


if __name__ == "__main__":
    main()
