"""What the figures share: reading results, colours, sizes, legends and writing SVG and PNG."""

import argparse
import gzip
import io
import json
import pathlib
import sys
import zlib

try:
    import matplotlib
    import matplotlib.pyplot as plt  # noqa: F401 (the scripts take it from here)
    import matplotlib.ticker
except ImportError as problem:
    print(
        f"{pathlib.Path(sys.argv[0]).name}: {sys.executable} cannot use matplotlib ({problem}), "
        "so nothing is drawn. Install it (apt install python3-matplotlib), or run the script by a "
        "Python that has it.",
        file=sys.stderr,
    )
    sys.exit(2)

matplotlib.use("Agg")
matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",  # text stays text: it can be read, searched and is small
        "svg.hashsalt": "dlscale",  # the same data gives the same file
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": "#d5dae0",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
    }
)

GREY = "#6b7480"  # what is told or ideal, beside what was measured
# After Okabe & Ito (2008), distinct to colour-blind readers.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"]


SHORTEST_S, LONGEST_S = 1e-100, 1e9  # as dlscale reads result files
MOST_INFLATED_BYTES = 2**29  # likewise


class BadInputError(Exception):
    """A file that cannot be drawn; the message says what to do."""


def inflated(path, content, most=MOST_INFLATED_BYTES):
    """What gzip inflates to; a few kilobytes of it can claim any amount of memory."""
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise BadInputError(f"{path} inflates to more than {most} bytes, the most that is read.")
    return text


def read_text(path):
    """The text of a regular file, compressed with gzip or not.

    A pipe is refused: its end might be waited for without end.
    """
    if pathlib.Path(path).exists() and not pathlib.Path(path).is_file():
        raise BadInputError(f"{path} is not a file. Name one that dlscale wrote.")
    try:
        content = pathlib.Path(path).read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = inflated(path, content)
        return content.decode("utf-8")
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise BadInputError(f"{path} cannot be read: {error}.") from error


def check_version(path, document):
    if document.get("version") != 1:
        raise BadInputError(f"{path} has version {document.get('version')}, this script reads 1.")


def read_json(path, schema):
    """The JSON object in a file, after a look at its schema and version."""
    try:
        document = json.loads(read_text(path))
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise BadInputError(f'{path} is not a "{schema}". Write it with dlscale --format json.')
    check_version(path, document)
    return document


def read_measurements(path):
    """The measurements of a result file (JSON Lines); a truncated last line is left out."""
    lines = read_text(path).splitlines()
    if not lines:
        raise BadInputError(f"{path} is empty. Name a result file of dlscale bench.")
    try:
        header = json.loads(lines[0])
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("schema") != "dlscale.result":
        raise BadInputError(f"{path} is not a result file of dlscale bench.")
    check_version(path, header)
    measurements = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            record = json.loads(line, parse_constant=refuse_constant)
            check_times(record)
        except ValueError as error:
            if number == len(lines) and isinstance(error, json.JSONDecodeError):
                break
            raise BadInputError(f"{path}, line {number}: {error}.") from error
        if "end" not in record:
            measurements.append(record)
    return measurements


def refuse_constant(word):
    """JSON has no NaN and no infinity, though Python reads them."""
    raise ValueError(f"{word} is not a number")


def check_times(record):
    """Of a row of a result file: its times are such that something may take."""
    time = record.get("series", {}).get("time") if isinstance(record, dict) else None
    if time is None or time.get("unit") != "s":
        return
    summary = time.get("summary", {})
    for name in ("median", "ci95_low", "ci95_high"):
        if name in summary and not SHORTEST_S <= summary[name] <= LONGEST_S:
            raise ValueError(f"a time is {summary[name]:g} s, which nothing took")


def label(text):
    """Text as it is: matplotlib would take what stands between dollars for a formula."""
    return str(text).replace("$", r"\$")


SIZES = [("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30)]


def size_text(size):
    """Bytes for a tick or a label: 64 KiB."""
    unit, scale = [pair for pair in SIZES if size >= pair[1] or pair[1] == 1][-1]
    number = size / scale
    return f"{number:.3g} {unit}" if number < 999.5 else f"{number:.0f} {unit}"


def set_size_ticks(axes, smallest, largest, most=14):
    """A logarithmic x axis of bytes with ticks at powers of two; `most` ticks, or a few more."""
    axes.set_xscale("log", base=2)
    first = max(0, int(smallest).bit_length() - 1)
    last = int(largest).bit_length()
    step = max(2, 2 * ((last - first) // most))
    ticks = [2**power for power in range(first - first % 2, last + 1, step)]
    axes.set_xticks(ticks, [size_text(tick) for tick in ticks], rotation=35, ha="right")


def set_plain_log(axis):
    """A logarithmic axis with numbers as they are, not as powers of ten."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def add_legend(figure, columns=5):
    """One legend for all panels, below them; a name that several panels have stands there once."""
    entries = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=max(1, min(columns, len(entries))),
        fontsize=8,
    )


def parser_of(doc):
    """A parser with the option that every figure has; `doc` is that of the script."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=pathlib.Path,
        help="writes OUTPUT.svg and OUTPUT.png; of a name with .svg, .png or .pdf only that file",
    )
    return parser


# What matplotlib writes into its files.
OWN_MARKS = {
    ".svg": b'<g id="figure_1">',
    ".png": b"Matplotlib version",
    ".pdf": b"Matplotlib pdf backend",
}
# Without dates: the same data gives the same file.
METADATA = {".svg": {"Date": None, "Creator": None}, ".png": None, ".pdf": {"CreationDate": None}}


def files_of(output):
    """The files that an output names: one by its ending, else an SVG and a PNG."""
    if output.suffix in OWN_MARKS:
        return [output]
    return [output.with_name(output.name + suffix) for suffix in (".svg", ".png")]


def refuse_foreign(path):
    """A file that is there may be replaced only by its own kind: the name may be a mistake."""
    if not path.exists():
        return
    mark = OWN_MARKS[path.suffix]
    if not path.is_file() or (path.stat().st_size > 0 and mark not in path.read_bytes()):
        raise BadInputError(
            f"{path} is there and is not a figure of such a script, so it is not overwritten. "
            "Choose another name, or remove it if nobody needs it."
        )


def save(figure, output, bbox_inches="tight"):
    """Writes the files that `output` names, on white: pages show them on dark grounds, too."""
    files = files_of(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    for path in files:
        refuse_foreign(path)
    for path in files:
        figure.savefig(
            path,
            bbox_inches=bbox_inches,
            dpi=150,
            facecolor="white",
            metadata=METADATA[path.suffix],
        )


def run(main):
    """Calls main(); bad input ends with one sentence and exit status 2."""
    try:
        main()
    except (BadInputError, OSError) as error:
        print(f"{pathlib.Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(2)
    except (KeyError, TypeError) as error:
        message = f"the input lacks {error}. Write it with this version of dlscale."
        print(f"{pathlib.Path(sys.argv[0]).name}: {message}", file=sys.stderr)
        sys.exit(2)
