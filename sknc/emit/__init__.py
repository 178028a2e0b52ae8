"""Writing: a set of files becomes an output folder in one step, with a manifest that says what is in it.

    files = assemble(programs, blocks, "train.py", source)
    write(Path("train_split"), files)

A set of files is a mapping from a POSIX path inside the folder to bytes.
"""

from sknc.emit._compare import Difference, compare, diff_text
from sknc.emit._folder import recover, write
from sknc.emit._manifest import MANIFEST, SCHEMA, build_manifest, parse_manifest, read_manifest
from sknc.emit._package import assemble, render_template, runtime_files

__all__ = [
    "MANIFEST",
    "SCHEMA",
    "Difference",
    "assemble",
    "build_manifest",
    "compare",
    "diff_text",
    "parse_manifest",
    "read_manifest",
    "recover",
    "render_template",
    "runtime_files",
    "write",
]
