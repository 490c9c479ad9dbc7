"""The study of deep chains on small images, as a process of its own: python small_study.py ..."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks" / "deep_posterior"), str(ROOT / "tests")]

import run  # noqa: E402

from paper import small  # noqa: E402
from pmcnet import data  # noqa: E402

if __name__ == "__main__":
    data.load_images, data.svhn_crops = small.images, lambda: None
    run.main()
