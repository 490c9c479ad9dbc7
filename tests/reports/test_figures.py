import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread as read_png

from pmcnet.errors import InputError
from pmcnet.reports import figures
from pmcnet.reports.figures.confusion import cell_text, shares
from pmcnet.reports.figures.histograms import beta_by_moments

GLASS = ["building float", "building other", "vehicle", "containers", "tableware", "headlamps"]
PNG = b"\x89PNG"


def curve(label, power=0.25):
    grid = np.linspace(0, 1, 51)
    bands = {
        k: [(grid ** (power * s)).tolist(), (grid ** (power / s)).tolist()]
        for k, s in LEVELS.items()
    }
    return {"class": label, "grid": grid.tolist(), "mean": (grid**power).tolist(), "bands": bands}


LEVELS = {"80": 1.3, "95": 1.7, "99": 2.0}


def row(probability, label=0, index=7):
    return {"row": index, "class": label, "probability": list(probability)}


def steps(n):
    return [{"auc": 0.6 + 0.3 * t / n, "accuracy": 0.5 + 0.3 * t / n} for t in range(n)]


def errors(n=60, scale=1.0, seed=0):
    return (scale * np.random.default_rng(seed).chisquare(1, n)).tolist()


DRAWS = np.random.default_rng(0).beta(8, 2, 200).tolist()
CALLS = {
    "roc": lambda path: figures.roc([curve(0), curve(1)], path, "A title", ["sick", "well"]),
    "roc_grid": lambda path: figures.roc_grid(
        {"20 rows": [curve(0)], "50 rows": [curve(0)]}, path, "A title"
    ),
    "metric_by_step": lambda path: figures.metric_by_step(
        {"one": steps(5), "two": steps(30)}, path, "A title"
    ),
    "histograms": lambda path: figures.histograms([row(DRAWS)], path, "A title", ["sick", "well"]),
    "confusion": lambda path: figures.confusion(
        {"one": [[3, 1.25], [0, 4]]}, path, "A title", ["sick", "well"]
    ),
    "squared_errors": lambda path: figures.squared_errors(
        {"one": errors(), "two": errors(60, 1e-4)}, path, "A title"
    ),
}
SAID = {
    "roc": [
        "sick",
        "AUC 0.7",
        "false positive rate",
        "true positive rate",
        "99 % of draws",
        "chance",
    ],
    "roc_grid": ["20 rows", "50 rows", "AUC 0.7"],
    "metric_by_step": ["one", "two", "AUC", "accuracy", "step"],
    "histograms": ["row 7: sick", "probability of the true class", "Beta fit"],
    "confusion": ["one", "sick", "well", "1.2<", ">3<", "predicted", "truth", "84.8 % right"],
    "squared_errors": [
        "one",
        "two",
        "squared error of 60 test rows",
        "median",
        "middle half",
        "how the rows spread",
    ],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_figure_is_written_and_its_path_returned(name, suffix, tmp_path):
    path = tmp_path / "new folder" / f"figure{suffix}"
    assert CALLS[name](path) == path
    start = path.read_bytes()[:5]
    assert start[:4] == PNG if suffix == ".png" else start == b"<?xml"
    assert path.stat().st_size > 2000


@pytest.mark.parametrize("name", CALLS)
def test_figure_svg_holds_its_words_as_text(name, tmp_path):
    text = CALLS[name](tmp_path / "figure.svg").read_text()
    for words in ["A title", *SAID[name]]:
        assert words in text, words


@pytest.mark.parametrize("name", CALLS)
def test_figure_svg_is_the_same_for_the_same_data(name, tmp_path):
    assert (
        CALLS[name](tmp_path / "a.svg").read_bytes() == CALLS[name](tmp_path / "b.svg").read_bytes()
    )


@pytest.mark.parametrize("name", CALLS)
def test_figure_refuses_other_formats(name, tmp_path):
    with pytest.raises(InputError, match=r"\.png, \.svg"):
        CALLS[name](tmp_path / "figure.pdf")


def test_roc_of_two_classes_draws_class_0_only(tmp_path):
    text = figures.roc([curve(1), curve(0)], tmp_path / "f.svg", "t", ["sick", "well"]).read_text()
    assert "sick" in text
    assert "well" not in text


def test_roc_of_six_classes_draws_all(tmp_path):
    text = figures.roc([curve(i) for i in range(6)], tmp_path / "f.svg", "t", GLASS).read_text()
    assert all(name in text for name in GLASS)
    assert text.count("AUC ") == 6


def test_roc_auc_is_the_trapezoid_of_the_mean(tmp_path):
    flat = {"class": 0, "grid": [0, 0.5, 1], "mean": [0, 1, 1], "bands": {}}
    assert "AUC 0.750" in figures.roc([flat], tmp_path / "f.svg", "t", ["a"]).read_text()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mean": [0.0] * 50 + [float("nan")]}, r"mean must be finite, at most 1e\+300; 1 of 51"),
        ({"mean": [0.0, 1.0]}, "one value per grid point"),
        ({"grid": [1.0] + [0.5] * 50}, "must not decrease"),
        ({"bands": {"50": [[0.0] * 51, [1.0] * 51]}}, "must be among"),
        ({"bands": {"80": [[0.0] * 51]}}, "low, high"),
        ({"class": 3}, "class 3 has no name"),
    ],
)
def test_roc_refuses_bad_curves(change, words, tmp_path):
    with pytest.raises(InputError, match=words):
        figures.roc([curve(0) | change], tmp_path / "f.png", "t", ["a"])
    assert not (tmp_path / "f.png").exists()


def test_roc_grid_needs_class_0(tmp_path):
    with pytest.raises(InputError, match="curve of class 0"):
        figures.roc_grid({"one": [curve(1)]}, tmp_path / "f.png", "t")


def test_metric_by_step_draws_a_single_step(tmp_path):
    text = figures.metric_by_step({"one": steps(1)}, tmp_path / "f.svg", "t").read_text()
    assert ">1</text>" in text


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"auc": float("nan"), "accuracy": 1.0}, "auc of one must be finite"),
        ({"auc": 1.0}, "key 'accuracy'"),
    ],
)
def test_metric_by_step_refuses_bad_steps(entry, words, tmp_path):
    with pytest.raises(InputError, match=words):
        figures.metric_by_step({"one": [entry]}, tmp_path / "f.png", "t")


def test_histograms_of_constant_draws_say_they_agree(tmp_path):
    rows = [row([0.25] * 10), row([0.75] * 10), row([1.0])]
    text = figures.histograms(rows, tmp_path / "f.svg", "t", ["a"]).read_text()
    assert text.count("all draws agree") == 3


def test_histograms_of_zeros_and_ones_do_not_say_they_agree(tmp_path):
    text = figures.histograms([row([0.0, 1.0] * 5)], tmp_path / "f.svg", "t", ["a"]).read_text()
    assert "all draws agree" not in text


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.5, float("nan")], "finite"),
        ([0.5, None], "finite"),
        ([0.5, 1.5], "in \\[0, 1\\]"),
        ([], "non-empty"),
        (["x"], "numbers"),
    ],
)
def test_histograms_refuse_what_is_no_probability(values, words, tmp_path):
    with pytest.raises(InputError, match=words):
        figures.histograms([row(values)], tmp_path / "f.png", "t", ["a"])


def test_beta_by_moments_has_the_moments():
    draws = np.array(DRAWS)
    a, b = beta_by_moments(draws)
    assert a / (a + b) == pytest.approx(draws.mean())
    assert a * b / ((a + b) ** 2 * (a + b + 1)) == pytest.approx(draws.var())


def test_beta_density_integrates_to_one():
    beta = beta_by_moments(np.array(DRAWS))
    x = np.linspace(0, 1, 20001)[1:-1]
    assert np.trapezoid(beta.density(x), x) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("draws", [[0.5] * 4, [0.0, 1.0, 1.0], [0.5, 0.50001]])
def test_beta_by_moments_is_none_without_a_fit(draws):
    assert beta_by_moments(np.array(draws)) is None


def test_confusion_draws_six_classes(tmp_path):
    text = figures.confusion(
        {"one": np.eye(6).tolist()}, tmp_path / "f.svg", "t", GLASS
    ).read_text()
    assert all(name.split()[0] in text for name in GLASS)


def test_confusion_draws_one_class_and_a_class_without_rows(tmp_path):
    figures.confusion({"one": [[5]]}, tmp_path / "f.png", "t", ["a"])
    figures.confusion({"one": [[5, 0], [0, 0]]}, tmp_path / "f.png", "t", ["a", "b"])


def test_confusion_shares_sum_to_one_by_row():
    np.testing.assert_allclose(shares(np.array([[3.0, 1.0], [0.0, 0.0]])), [[0.75, 0.25], [0, 0]])


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (3.0, "3"),
        (0.0, "0"),
        (2.26, "2.3"),
        (19.999, "20.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (931.4, "931"),
    ],
)
def test_confusion_cells_have_one_decimal_unless_whole_or_large(count, text):
    assert cell_text(count) == text


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[1, float("nan")], [0, 1]], "finite"),
        ([[1, 0]], "n_classes=2"),
        ([[1, -1], [0, 1]], "at least 0"),
        ([[1], [1, 2]], "equal"),
    ],
)
def test_confusion_refuses_bad_matrices(matrix, words, tmp_path):
    with pytest.raises(InputError, match=words):
        figures.confusion({"one": matrix}, tmp_path / "f.png", "t", ["a", "b"])


@pytest.mark.parametrize("n_panels", [1, 9])
@pytest.mark.parametrize(
    "names", [list("0123456789"), [f"a longer name {i}" for i in range(10)], ["a", "b"]]
)
def test_confusion_clips_nothing_at_the_edges(n_panels, names, tmp_path):
    matrix = (900 * np.eye(len(names)) + 7.5).tolist()
    labels = [f"a method of long name {i}" for i in range(n_panels)]
    path = figures.confusion(dict.fromkeys(labels, matrix), tmp_path / "f.png", "t", names)
    assert margins_are_white(path)


def test_confusion_names_classes_at_outer_panels_only(tmp_path):
    matrices = dict.fromkeys(["one", "two", "three", "four"], np.eye(2).tolist())
    text = figures.confusion(matrices, tmp_path / "f.svg", "t", ["sick", "well"]).read_text()
    assert text.count(">sick</text>") == 4  # at two rows and below two columns


def margins_are_white(path):
    """Whether the outermost pixels show nothing, as they do unless something is cut off."""
    pixels = read_png(path)  # (H, W, 4)
    edges = [pixels[:2], pixels[-2:], pixels[:, :2], pixels[:, -2:]]
    return all((edge == 1).all() for edge in edges)


@pytest.mark.parametrize("n_methods", [1, 2, 5, 9])
def test_squared_errors_clip_nothing_at_the_edges(n_methods, tmp_path):
    by_method = {
        f"PMCnet-light, with weights {i}": [0.0, *errors(500, 10.0**-i, i)]
        for i in range(n_methods)
    }
    assert margins_are_white(figures.squared_errors(by_method, tmp_path / "f.png", "t"))


def test_squared_errors_tell_medians_and_errors_of_zero(tmp_path):
    by_method = {"one": [0.0, 1.6e-4, 1.0], "two": [0.25, 0.5, 2.0]}
    text = figures.squared_errors(by_method, tmp_path / "f.svg", "t").read_text()
    assert "1.6e-04" in text
    assert "0.5000" in text
    assert "1 error is below" in text


@pytest.mark.parametrize("values", [[0.0], [0.0] * 9, [2.0], [1e-320, 5.0], [0.0, 1e-300, 1e300]])
def test_squared_errors_of_any_size_are_drawn(values, tmp_path):
    figures.squared_errors({"one": values}, tmp_path / "f.png", "t")


@pytest.mark.parametrize(
    ("values", "words"),
    [([1.0, -1.0], "at least 0"), ([float("nan")], "finite"), ([], "non-empty")],
)
def test_squared_errors_refuse_what_is_none(values, words, tmp_path):
    with pytest.raises(InputError, match=words):
        figures.squared_errors({"one": values}, tmp_path / "f.png", "t")
    assert not (tmp_path / "f.png").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda path: figures.roc([], path, "t", []),
        lambda path: figures.roc_grid({}, path, "t"),
        lambda path: figures.metric_by_step({}, path, "t"),
        lambda path: figures.histograms([], path, "t", []),
        lambda path: figures.confusion({}, path, "t", []),
        lambda path: figures.squared_errors({}, path, "t"),
    ],
)
def test_figure_refuses_nothing_to_draw(call, tmp_path):
    with pytest.raises(InputError, match="must not be empty"):
        call(tmp_path / "f.png")


def test_reports_import_without_matplotlib_and_figures_without_pyplot():
    code = (
        "import sys, pmcnet.reports, pmcnet.reports.published_tables;"
        "assert 'matplotlib' not in sys.modules;"
        "import pmcnet.reports.figures;"
        "assert not {'matplotlib.pyplot', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
