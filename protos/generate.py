"""Generates Python code from the .proto sources: `python protos/generate.py` (`make protos` runs it).

Each folder below `protos/` is one protocol; `PACKAGES` says which Python package gets its messages. Only messages and
their type stubs are generated: clients and servers are bound from the descriptors (`shared/cri/rpc.py`), so there is no
generated import that would depend on where a package lies. Files that did not change are left alone, and changed ones
are replaced whole, so this may run while daemons or tests import the old ones.
"""

import re
import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
PACKAGES = {
    "health": "shared/health/stubs",
    "runtime": "shared/cri/stubs",
}
"""Folder below `protos/` to the package of its generated code, from the project's root."""


def generate(root: Path, protocol: str, package: str) -> list[Path]:
    """Write the code of one protocol; returns the files that changed. Raises SystemExit when protoc finds an error."""
    sources = sorted(str(path.relative_to(HERE)) for path in (HERE / protocol).rglob("*.proto"))
    includes = [f"-I{HERE}", f"-I{Path(grpc_tools.__file__).parent / '_proto'}"]
    with tempfile.TemporaryDirectory() as scratch:
        status = protoc.main(["protoc", *includes, f"--python_out={scratch}", f"--pyi_out={scratch}", *sources])
        if status != 0:
            raise SystemExit(f"protoc failed for {', '.join(sources)} (status {status})")
        made = {path.relative_to(scratch): strict(path) for path in Path(scratch).rglob("*.py*")}
    target = root / package
    folders = {folder for name in made for folder in name.parents}
    made |= {folder / "__init__.py": b"" for folder in folders}
    return [target / name for name, content in sorted(made.items()) if replace(target / name, content)]


def strict(path: Path) -> bytes:
    """The file's content; in type stubs with the type arguments that protoc leaves out and a strict check asks for."""
    content = path.read_bytes()
    return re.sub(rb", _Mapping\]", b", _Mapping[str, object]]", content) if path.suffix == ".pyi" else content


def replace(path: Path, content: bytes) -> bool:
    """Make the file hold that content; False when it did already."""
    if path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)
    return True


def main() -> None:
    folders = {path.parent.relative_to(HERE).parts[0] for path in HERE.rglob("*.proto")}
    if unknown := folders - PACKAGES.keys():
        raise SystemExit(f"{', '.join(sorted(unknown))}: say in PACKAGES of {__file__} where its code belongs")
    for protocol in sorted(folders):
        for path in generate(HERE.parent, protocol, PACKAGES[protocol]):
            print(path.relative_to(HERE.parent), file=sys.stderr)


if __name__ == "__main__":
    main()
