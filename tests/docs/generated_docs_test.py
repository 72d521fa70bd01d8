"""What stands in the docs is what the program prints: `make docs` rewrites it."""
import os
import pathlib
import subprocess
import sys

root = pathlib.Path(os.environ["INGOT_SOURCE_DIR"])
sys.exit(subprocess.run([sys.executable, root / "tools" / "update_docs.py", "--check"]).returncode)
