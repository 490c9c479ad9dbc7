"""The README's Python runs as it stands."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_readme_quick_start_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert abs(names["result"].log_evidence - 1.8379) < 5 * names["result"].log_evidence_error + 1e-3
    assert names["draws"].shape == (1000, 2)
    assert names["slow"].n_draws == 200
    assert "trustworthy" in capsys.readouterr().out
