"""Runs the notebooks: python run.py [--write] [NAME...]. With --write their results and pictures are kept."""
import pathlib
import sys

import nbformat
from nbclient import NotebookClient

FOLDER = pathlib.Path(__file__).resolve().parent


def clean(book):
    """What differs from run to run without a meaning: times of cells, texts beside pictures."""
    for cell in book.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                data.pop("text/plain", None)
                output["metadata"] = {}


def run(path):
    book = nbformat.read(path, 4)
    NotebookClient(book, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}).execute()
    clean(book)
    return book


def main():
    write, names = "--write" in sys.argv, [name for name in sys.argv[1:] if not name.startswith("-")]
    for path in sorted(FOLDER.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        book = run(path)
        if write:
            nbformat.write(book, path)
        print(f"{path.name}: {len(book.cells)} cells")


if __name__ == "__main__":
    main()
