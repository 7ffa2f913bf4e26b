"""The page of the cookbook about Python: its code runs as it stands, block after block."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "cookbook" / "python.md"


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert len(blocks) >= 3
    names = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"python.md, block {number + 1}", "exec"), names)
    said = capsys.readouterr().out
    assert "did you mean 'load'" in said
    assert names["peak"].shape[0] == 1 and (tmp_path / "load.safetensors").exists()
