"""`pmcnet fit DATA --target COLUMN`: a table in, a run folder out."""

from pathlib import Path
from typing import Any

import click

from pmcnet.cli.read_options import reading_options


class MethodOption(click.Option):
    """An option whose help lists the methods, which take a second to import, when it is shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its help."""
        from pmcnet.methods.registry import METHODS

        always = [name for name, settings in METHODS.items() if settings.library is None]
        extra = [name for name in METHODS if name not in always]
        names = f"auto, {', '.join(always)}; with extras installed {', '.join(extra)}"
        self.help = f"{names}. Default: auto."
        return super().get_help_record(ctx)


def _one_target(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
    """The target, if one was given."""
    from pmcnet.errors import InputError
    from pmcnet.runs.prepare import several_refused

    if len(given) > 1:
        raise InputError(several_refused(given))
    return given[0] if given else None


def model_options(command: Any) -> Any:
    """The options that fit and compare share."""
    options = [
        click.option(
            "--target",
            multiple=True,
            callback=_one_target,
            help="The column to predict; built-in datasets know theirs.",
        ),
        click.option(
            "--task",
            type=click.Choice(["auto", "regression", "classification"]),
            help="Default: auto.",
        ),
        click.option(
            "--exposure",
            help="Where the target is a count: the column of times, areas or numbers at risk over "
            "which it was counted. It is no feature.",
        ),
        click.option(
            "--event",
            help="Where the target is a time until an event: the column that says whether the "
            "event was observed (1, true, yes) or the row is censored (0, false, no). Without it "
            "all were.",
        ),
        click.option("--hidden", help="Units of each hidden layer, e.g. 16 or 50,50. Default: 50."),
        click.option(
            "--activation",
            type=click.Choice(["tanh", "relu", "sigmoid", "silu"]),
            help="Default: tanh.",
        ),
        click.option(
            "--prior",
            type=click.Choice(["gaussian", "layer", "laplace"]),
            help="Default: gaussian.",
        ),
        click.option(
            "--prior-std",
            help="auto, hierarchical, layer, ard, evidence, validation or a number. Default: auto.",
        ),
        click.option(
            "--likelihood",
            help="How the target is distributed given the network; a wrong name lists the known.",
        ),
        click.option(
            "--noise",
            help="Of a regression: auto, learn, by-row, or a number in units of the target.",
        ),
        click.option(
            "--scaling", "feature_scaling", type=click.Choice(["columns", "common", "none"])
        ),
        click.option("--drop", help="Columns to leave out, separated by commas."),
        click.option(
            "--keep",
            help="Columns, separated by commas, that stay though they look like identifiers, are "
            "constant, or repeat another.",
        ),
        click.option(
            "--column",
            "column_types",
            multiple=True,
            metavar="NAME=KIND",
            help="Read a column as number, log-number, category, many-levels, date, duration or "
            "text, or drop it; repeatable. The report lists how each was read.",
        ),
        click.option(
            "--min-class-rows",
            type=int,
            help="Leave out the rows of classes that have fewer. Default: 1.",
        ),
        click.option(
            "--budget",
            help="What may be spent, e.g. 90s, 3min, 1h; by the clock where it can. Default: 3min.",
        ),
        click.option(
            "--test-share", type=float, help="Share of the rows kept for testing. Default: 0.2."
        ),
        click.option(
            "--passes", "n_passes", type=int, help="Draws behind credible intervals. Default: 100."
        ),
        click.option("--seed", type=int, help="Decides everything random. Default: 0."),
        click.option("--device", help="auto, cpu, cuda, ... Default: auto."),
    ]
    for option in reversed(options):
        command = option(command)
    return reading_options(command)


class _Fit(click.Command):
    """The command; its help takes the file formats from their registry."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The docstring of `fit`, then what DATA may be."""
        from pmcnet.data.readers.registry import format_names

        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(
                f"DATA is a {format_names()} file, - for standard input, the URL of a database "
                "with --sql, or the name of a built-in dataset (pmcnet datasets)."
            )


@click.command(cls=_Fit)
@click.argument("data", required=False)
@click.option("--method", cls=MethodOption)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the method; repeatable.",
)
@model_options
@click.option(
    "--conformal",
    is_flag=True,
    default=None,
    help="Calibrate intervals, or sets of classes, on a fifth of the training rows, which is held "
    "out of the fit. Needs the extra conformal.",
)
@click.option(
    "--what-if/--no-what-if",
    default=None,
    help="Whether the report holds networks that predict what its reader asks; 300 kB at most. "
    "Default: yes.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="A TOML file with settings; options given here win.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="The run folder to make. Default: runs/NAME."
)
@click.option("--json", "as_json", is_flag=True, help="Print metrics.json instead of a summary.")
def fit(
    data: str | None,
    method: str | None,
    options: tuple[str, ...],
    config: Path | None,
    out: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Fit a Bayesian neural network to DATA and write a run folder.

    The folder holds the model, metrics and predictions of held-out rows, the history, a report to
    open in a browser, and config.toml, with which `pmcnet fit --config` repeats the run exactly.
    """
    from pmcnet.distributed import joined
    from pmcnet.estimators.plan import resolve_device
    from pmcnet.reports.progress import FitProgress
    from pmcnet.runs.config import READING, RunSettings, read_config
    from pmcnet.runs.fit import fit_run, resume_run
    from pmcnet.runs.processes import begun_before, follow
    from pmcnet.runs.update import refuse_updated

    base = read_config(config) if config else {}
    provenance = base.pop("provenance", {})
    chosen = plain_settings(given | {"data": data, "method": method})
    if data is not None and base.get("data") not in (None, data):  # read in its own way
        base = {name: value for name, value in base.items() if name not in READING}
    if options:
        chosen["method_options"] = base.get("method_options", {}) | dict(map(_option, options))
    settings = RunSettings.of(base | chosen)
    own_data = data is None or data == base.get("data")
    if own_data:
        refuse_updated(provenance)
    where = out or _free_place(settings.data)
    with joined(resolve_device(settings.device)) as comm:
        if comm.rank > 0:
            follow(comm, settings)
            return
        with FitProgress() as shown:
            if begun_before(out):
                finished = resume_run(where, shown=shown, comm=comm)
            else:
                fingerprint = provenance.get("data_fingerprint") if own_data else None
                finished = fit_run(settings, where, shown=shown, fingerprint=fingerprint, comm=comm)
    show(finished, as_json)


def _free_place(data: str) -> Path:
    """runs/NAME, or with a number; several processes need --out, so that all of them agree."""
    from pmcnet.distributed import is_one_of_many
    from pmcnet.errors import InputError
    from pmcnet.runs.folder import RunFolder

    if is_one_of_many():
        raise InputError(
            "a run of several processes needs --out, so that it finds its folder after a restart."
        )
    return RunFolder.free(Path("runs"), run_name(data))


def run_name(data: str) -> str:
    """What a run on that table is called."""
    _, is_url, rest = data.partition("?")[0].partition("://")
    place = rest.partition("/")[2] if is_url else data  # of a URL no user, password or parameter
    name = Path(place).name.split(".")[0]
    return name if name not in ("", "-") else "run"


def show(finished: Any, as_json: bool) -> None:
    """What a finished run prints."""
    from pmcnet.cli.output import print_json, print_metrics, print_verdict
    from pmcnet.reports.advice import advice

    if as_json:
        print_json(finished.metrics)
        return
    print_verdict(finished.metrics["diagnostics"])
    print_metrics(finished.metrics)
    click.echo(f"advice: {advice(finished.report)[0]}")
    click.echo(f"report: {finished.folder.report}")
    click.echo(f"next:   pmcnet predict {finished.folder.path} NEW.csv -o predictions.csv")


def plain_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Options as settings have them; what was not given is left out."""
    from pmcnet.errors import InputError

    chosen = {name: value for name, value in given.items() if value is not None}
    if "hidden" in chosen:
        try:
            chosen["hidden"] = [int(part) for part in chosen["hidden"].split(",") if part.strip()]
        except ValueError as error:
            raise InputError(
                f"--hidden must be whole numbers like 16 or 50,50; got {chosen['hidden']!r}."
            ) from error
    for name in ("drop", "keep"):
        if name in chosen:
            chosen[name] = [part.strip() for part in chosen[name].split(",") if part.strip()]
    if "column_types" in chosen:
        pairs = [pair.rpartition("=") for pair in chosen.pop("column_types")]
        if (wrong := next((kind for name, _, kind in pairs if not name), None)) is not None:
            raise InputError(f"--column must be NAME=KIND, e.g. price=number; got {wrong!r:.60}.")
        if pairs:
            chosen["column_types"] = {name.strip(): kind.strip() for name, _, kind in pairs}
    for name in ("prior_std", "noise", "budget"):
        if name in chosen:
            chosen[name] = number_or_text(chosen[name])
    return chosen


def _option(text: str) -> tuple[str, Any]:
    from pmcnet.errors import InputError

    name, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"--option must be NAME=VALUE, e.g. n_particles=1000; got {text!r}.")
    if (value := value.strip()).lower() in ("true", "false"):
        return name.strip(), value.lower() == "true"
    number = number_or_text(value)
    whole = isinstance(number, float) and number.is_integer()
    return name.strip(), int(number) if whole else number


def number_or_text(text: str) -> float | str:
    """What an option means that may be a number or a word."""
    try:
        return float(text)
    except ValueError:
        return text
