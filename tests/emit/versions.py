"""Two versions of an output folder that share no program's bytes."""

from sknc.emit import MANIFEST, build_manifest


def version(which: int, programs: int = 12) -> dict[str, bytes]:
    """Return the files of a folder; version 1 has one program less."""
    count = programs - which
    files = {f"submodel_{index:02}.py": f"# {which} {index}\n".encode() * 400 for index in range(count)}
    files["compose.py"] = f"# compose {which}\n".encode()
    files["skn_runtime/__init__.py"] = f"# runtime {which}\n".encode()
    files["skn_runtime/data/rows.py"] = f"# rows {which}\n".encode()
    files[MANIFEST] = build_manifest("train.py", str(which).encode(), [{"index": 0}], files)
    return files
