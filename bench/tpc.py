"""The data of TPC-H and TPC-DS, by DuckDB's extensions. These come as Python packages and need a DuckDB of their own: the
packages are installed once below target/tpc."""

import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
KEPT = HOME / "target" / "tpc"
PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpch==1.5.5", "duckdb-extension-tpcds==1.5.5")


def extension(name, *arguments):
    """What bench/tpc_data.py prints of `tpch` or `tpcds`."""
    venv = KEPT / "venv"
    python = venv / "bin" / "python"
    if not (venv / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES], check=True)
        (venv / ".ready").touch()
    command = [python, HOME / "bench" / "tpc_data.py", name, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
