"""Writes docs/python-reference.md from the docstrings: python reference.py [--check]. Reads the sources, imports nothing."""
from __future__ import annotations

import ast
import pathlib
import re
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent / "src" / "llapdiff"
OUT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "python-reference.md"
ADAPTERS = ["sktime", "nixtla", "gluonts", "sklearn", "pypots", "torch", "distributed"]
ORDER = ["train", "load", "from_bytes", "Model", "Forecast", "Imputation", "Answer", "Detection", "Scores", "Poles", "Sampler", "Trainer",
         "Event", "panel", "read", "pack", "demo", "inspect", "Panel", "Inspection", "Table", "devices", "Device", "features", "version"]


def homes() -> dict[str, str]:
    """Public name -> module, from the package itself."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    table = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "_HOMES")
    return {name: home for home, names in ast.literal_eval(table).items() for name in names}


def definitions(module: str) -> dict[str, ast.AST]:
    return {node.name: node for node in ast.parse((PACKAGE / f"{module}.py").read_text()).body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def docstring(node: ast.AST) -> str:
    """As it is written, less the indentation of the code around it: what is indented further is an example."""
    written = ast.get_docstring(node, clean=False) or ""
    depth = node.body[0].col_offset if written else 0
    first, *rest = written.strip().splitlines() or [""]
    return "\n".join([first, *(line[depth:] for line in rest)])


def examples(module: str) -> list[tuple[str, str]]:
    """The indented pieces of a module's docstrings, which are code, and of what they are."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    documented = [tree, *(n for n in ast.walk(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef)))]
    return [(getattr(node, "name", module), re.sub("^    ", "", block, flags=re.M)) for node in documented
            for block in re.findall(r"(?:^    .*\n?)+", docstring(node), re.M)]


def signature(node: ast.FunctionDef, name: str, bound: bool) -> str:
    """As it is called: without self, types or what is private."""
    a = node.args
    given = [*a.posonlyargs, *a.args]
    texts = [arg.arg for arg in given]
    for arg, default in zip(reversed(range(len(given))), reversed(a.defaults)):
        texts[arg] += "=" + ast.unparse(default)
    if bound:
        texts = texts[1:]
    if a.kwonlyargs:
        texts.append("*" if a.vararg is None else "*" + a.vararg.arg)
        texts += [k.arg + ("" if d is None else "=" + ast.unparse(d)) for k, d in zip(a.kwonlyargs, a.kw_defaults)]
    if a.kwarg is not None and a.kwarg.arg != "ignored":
        texts.append("**" + a.kwarg.arg)
    return f"{name}({', '.join(texts)})"


def shown(doc: str) -> list[str]:
    """A docstring as Markdown: examples become code, sections a bold word, parameters a list."""
    lines, out, code = doc.strip().splitlines(), [], False
    for line, following in zip(lines, [*lines[1:], ""]):
        starts = line.startswith((">>>", "    "))
        if starts and not code:
            out.append("```python")
        elif code and not line.strip():
            out.append("```")
            starts = False
        code = starts or (code and bool(line.strip()))
        if code:
            out.append(re.sub("^    ", "", line))
        elif re.fullmatch("-{3,}", following):
            out += [f"**{line}**", ""]
        elif not re.fullmatch("-{3,}", line):
            out.append(re.sub(r"^(\w+) : ", r"- `\1`: ", line))
    return out + ["```"] if code else out


def is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, (ast.Name, ast.Attribute)) and ast.unparse(d) in ("property", "functools.cached_property")
               for d in node.decorator_list)


def about_class(name: str, node: ast.ClassDef) -> list[str]:
    out = [f"## {name}", "", *shown(docstring(node)), ""]
    for member in node.body:
        if not isinstance(member, ast.FunctionDef) or member.name.startswith("_"):
            continue
        doc = docstring(member)
        if not doc:
            continue
        static = any(ast.unparse(d) == "staticmethod" for d in member.decorator_list)
        title = member.name if is_property(member) else signature(member, member.name, not static)
        out += [f"### `{name}.{title}`", "", *shown(doc), ""]
    return out


def reference() -> str:
    out = ["# Python reference", "", "Made of the docstrings by `python/reference.py`; a test keeps it so, and runs its examples. "
           "The guide: [python.md](python.md).", ""]
    where = homes()
    for name in [n for n in ORDER if n in where]:
        node = definitions(where[name])[name]
        if isinstance(node, ast.ClassDef):
            out += about_class(name, node)
        else:
            out += [f"## `{signature(node, name, False)}`", "", *shown(docstring(node)), ""]
    out += ["## Errors", "", "| exception | when |", "|---|---|"]
    errors = definitions("_lib")
    for name in sorted(n for n in where if n not in ORDER):
        bases = ", ".join(ast.unparse(b) for b in errors[name].bases)
        doc = docstring(errors[name])
        out.append(f"| `{name}({bases})` | {doc} |")
    out.append("")
    for module in ADAPTERS:
        tree = ast.parse((PACKAGE / f"{module}.py").read_text())
        out += [f"# llapdiff.{module}", "", *shown(docstring(tree)), ""]
        for name, node in definitions(module).items():
            if name.startswith("_"):
                continue
            if isinstance(node, ast.ClassDef):
                out += about_class(name, node)
            else:
                out += [f"## `{signature(node, name, False)}`", "", *shown(docstring(node)), ""]
    return "\n".join(out).rstrip() + "\n"


def main() -> None:
    text = reference()
    if "--check" in sys.argv:
        sys.exit(0 if OUT.read_text() == text else f"{OUT.name} is not that of the docstrings: python python/reference.py")
    OUT.write_text(text)


if __name__ == "__main__":
    main()
