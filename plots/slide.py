#!/usr/bin/env python3
"""The first screen of a page of dlscale report as one picture for a slide.

Shows the question, the answer, its numbers and the figure of the page: nothing is computed again.
dlscale report --picture calls it. Example: plots/slide.py page/index.html -o summary.png
"""

import dataclasses
import functools
import html.parser
import re
import textwrap

import figure_io
from figure_io import plt
from matplotlib import font_manager
from matplotlib.textpath import text_to_path

SLIDE = (12.8, 7.2)  # inches, 16:9
POINTS = 72  # in an inch
EDGE = 0.03  # of the slide, left and right
TEXT_BESIDE = 0.36  # of the slide, beside a tall figure
FONT_PX = 13  # of text in a figure of dlscale


@dataclasses.dataclass
class Shape:
    """An element of a figure's SVG."""

    tag: str
    attributes: dict
    text: str = ""

    def classes(self):
        return [*self.attributes.get("class", "").split(), self.tag]

    def number(self, name):
        return float(self.attributes.get(name, 0))

    def points(self):
        pairs = [pair.split(",") for pair in self.attributes["points"].split()]
        return [(float(x), float(y)) for x, y in pairs]


@dataclasses.dataclass
class Table:
    """A table of the page; its first row has the headings."""

    caption: str = ""
    rows: list = dataclasses.field(default_factory=list)

    def records(self):
        return [dict(zip(self.rows[0], row, strict=True)) for row in self.rows[1:]]


class Page(html.parser.HTMLParser):
    """What the first screen says. Only the first figure counts: it stands there."""

    def __init__(self, text):
        super().__init__()
        self.question = self.verdict = self.caption = self.quality = self.style = ""
        self.tiles = []  # [name, value, detail]
        self.shapes = []
        self.tables = []
        self.size = None
        self.path = []  # open elements: (tag, class or id)
        self.feed(text)

    VOID = ("meta", "link", "br", "hr", "input", "img")  # elements without an end
    UNDRAWN = ("title", "desc", "style")  # of an SVG

    def inside(self, name):
        return any(name in names for names in self.path)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in self.VOID:
            return
        self.path.append((tag, attributes.get("class", ""), attributes.get("id", "")))
        if tag == "svg" and self.size is None:
            self.size = (float(attributes["width"]), float(attributes["height"]))
            self.path.append(("drawing",))
        elif tag == "dt" and self.inside("tiles"):
            self.tiles.append([])
        elif tag in ("table", "tr", "th", "td"):
            self.begin_in_table(tag)
        elif self.inside("drawing") and tag not in self.UNDRAWN:
            self.shapes.append(Shape(tag, attributes))

    def begin_in_table(self, tag):
        if tag == "table":
            self.tables.append(Table())
        elif tag == "tr":
            self.tables[-1].rows.append([])
        else:
            self.tables[-1].rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        if self.inside("drawing"):
            self.shapes.append(Shape(tag, dict(attributes)))

    def handle_endtag(self, tag):
        while self.path and self.path.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self.inside("drawing"):
            if self.path[-1][0] == "style":
                self.style += data
            elif self.path[-1][0] == "text":
                self.shapes[-1].text += data
        elif self.inside("verdict") and not data.isspace():
            self.add_to_verdict(data)
        elif self.inside("h1"):
            self.question += data
        elif self.path and self.path[-1][0] in ("th", "td"):
            self.tables[-1].rows[-1][-1] += data
        elif self.path and self.path[-1][0] == "caption":
            self.tables[-1].caption += data
        elif self.inside("figcaption") and self.size and not self.inside("section"):
            self.caption = self.caption or data

    def add_to_verdict(self, data):
        if self.inside("tiles"):
            if self.path[-1][0] != "div":
                self.tiles[-1].append(data)
        elif self.inside("data"):
            self.quality += data if self.inside("summary") else ""
        elif self.path[-1][0] == "p":
            self.verdict += data


TRAININGS = {
    "network",
    "ranks",
    "batch",
    "data type",
    "device",
    "backend or framework",
    "column",
    "basis",
    "samples/s",
}


def trainings_of(page):
    """The table of trainings side by side, which the slide shows in place of the figure."""
    found = (table for table in page.tables if table.rows and TRAININGS.issubset(table.rows[0]))
    return next(found, None)


def read_page(path):
    page = Page(figure_io.read_text(path))
    if not page.question or not page.verdict:
        raise figure_io.BadInputError(
            f"{path} is not a page of dlscale report. Name the index.html of one."
        )
    return page


class Style:
    """The light colours, lines and sizes of a figure by class, as its own style sheet has them."""

    def __init__(self, sheet):
        light = sheet.split("@media", 1)[0]
        colours = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", light))
        self.rules = []  # (class or tag, {property: value}), in their order
        for name, body in re.findall(r"\.own \.?(\w+)\{([^{}]*)\}", sheet):
            pairs = (one.split(":", 1) for one in body.split(";") if ":" in one)
            values = {
                key: re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], value)
                for key, value in pairs
            }
            self.rules.append((name, values))

    def of(self, shape):
        """The properties of a shape; later rules stand above earlier ones, as in a browser."""
        found = {"fill": "#000000", "stroke": "none", "stroke-width": "1", "opacity": "1"}
        for name, values in self.rules:
            if name in shape.classes():
                found.update(values)
        found["opacity"] = float(found["opacity"]) * float(shape.attributes.get("fill-opacity", 1))
        return found


class Drawing:
    """Draws the shapes of an SVG on axes whose unit is a pixel of it."""

    def __init__(self, axes, page):
        width, height = page.size
        axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal", anchor="N")
        axes.axis("off")
        self.axes = axes
        self.style = Style(page.style)
        box = axes.get_position()
        across, down = box.width * SLIDE[0], box.height * SLIDE[1]
        self.scale = POINTS * min(across / width, down / height)  # points per pixel
        for shape in page.shapes:
            draw = getattr(self, f"draw_{shape.tag}", None)
            if draw is None:
                raise figure_io.BadInputError(
                    f"the figure holds <{shape.tag}>, which is not drawn. Use the slide.py of the "
                    "dlscale that wrote the page."
                )
            draw(shape, self.style.of(shape))

    def look(self, style):
        dashes = style.get("stroke-dasharray")
        return {
            "facecolor": style["fill"],
            "edgecolor": style["stroke"],
            "linewidth": float(style["stroke-width"]) * self.scale,
            "alpha": style["opacity"],
            "linestyle": (0, tuple(map(float, dashes.split()))) if dashes else "solid",
        }

    def add_lines(self, points, style):
        look = self.look(style)
        self.axes.plot(
            *zip(*points, strict=True),
            color=look["edgecolor"],
            linewidth=look["linewidth"],
            linestyle=look["linestyle"],
            alpha=look["alpha"],
        )

    def draw_line(self, shape, style):
        ends = [(shape.number(f"x{end}"), shape.number(f"y{end}")) for end in (1, 2)]
        self.add_lines(ends, style)

    def draw_polyline(self, shape, style):
        self.add_lines(shape.points(), style)

    def draw_polygon(self, shape, style):
        self.axes.add_patch(plt.Polygon(shape.points(), **self.look(style)))

    def draw_rect(self, shape, style):
        at = (shape.number("x"), shape.number("y"))
        size = (shape.number("width"), shape.number("height"))
        self.axes.add_patch(plt.Rectangle(at, *size, **self.look(style)))

    def draw_circle(self, shape, style):
        centre = (shape.number("cx"), shape.number("cy"))
        self.axes.add_patch(plt.Circle(centre, shape.number("r"), **self.look(style)))

    def draw_path(self, shape, style):
        """Round marks: Canvas::dots() writes each as a line without length."""
        dots = re.findall(r"M(\S+) (\S+)h0", shape.attributes["d"])
        size = float(style["stroke-width"]) * self.scale
        self.axes.scatter(
            [float(x) for x, _ in dots],
            [float(y) for _, y in dots],
            s=size**2,
            color=style["stroke"],
            linewidths=0,
            alpha=style["opacity"],
        )

    def draw_text(self, shape, style):
        at = (shape.number("x"), shape.number("y"))
        upright = re.match(
            r"translate\((\S+) (\S+)\) rotate", shape.attributes.get("transform", "")
        )
        if upright:
            at = (float(upright[1]), float(upright[2]))
        anchor = shape.attributes.get("text-anchor", "start")
        horizontal = {"start": "left", "middle": "center", "end": "right"}[anchor]
        self.axes.text(
            *at,
            figure_io.label(shape.text),
            ha=horizontal,
            va="baseline",
            rotation=90 if upright else 0,
            rotation_mode="anchor",
            color=style["fill"],
            fontsize=FONT_PX * self.scale,
            fontweight="bold" if style.get("font-weight") == "600" else "normal",
        )


class Trainings:
    """Draws trainings as bars of samples a second below a heading for each network and batch."""

    MOST_LINES = 22  # that can be read on a slide
    BARS_FROM, BARS_TO = 0.5, 0.78  # of the width
    POINTS_ACROSS = (1 - 2 * EDGE) * SLIDE[0] * POINTS

    def __init__(self, axes, table):
        self.axes = axes
        groups = {}
        for record in table.records():
            ranks = "1 rank" if record["ranks"] == "1" else f"{record['ranks']} ranks"
            asked = [record["network"], ranks, f"batch {record['batch']}", record["data type"]]
            groups.setdefault(", ".join(asked), []).append(record)
        lines = [(name, record) for name, records in groups.items() for record in [None, *records]]
        shown = lines[: self.MOST_LINES]
        while shown[-1][1] is None:  # a heading alone
            shown.pop()
        axes.set(xlim=(0, 1), ylim=(max(len(shown), 8) + 1, 0))
        axes.axis("off")
        for place, (name, record) in enumerate(shown):
            if record is None:
                room = 0.9 * self.POINTS_ACROSS  # bold letters are wider
                self.write(0, place, shortened(name, 9, room), fontweight="bold")
            else:
                self.draw_bar(place, record, max(map(self.rate, groups[name])))
        hidden = sum(record is not None for _, record in lines[self.MOST_LINES :])
        if hidden:
            self.write(0, len(shown), f"{hidden} more are in the table of the page")

    @staticmethod
    def rate(record):
        return float(record["samples/s"])

    def write(self, x, place, text, **more):
        text = figure_io.label(text)
        self.axes.text(x, place + 0.5, text, va="center", **({"fontsize": 9} | more))

    def draw_bar(self, place, record, best):
        parts = [record[key] for key in ("column", "device", "backend or framework")]
        if record["basis"] != "measured":
            parts.append(record["basis"])
        name = " · ".join(dict.fromkeys(filter(None, parts)))
        room = (self.BARS_FROM - 0.02) * self.POINTS_ACROSS
        self.write(0.01, place, shortened(name, 8, room), fontsize=8)
        share = self.rate(record) / best
        width = share * (self.BARS_TO - self.BARS_FROM)
        self.axes.barh(
            place + 0.5, width, left=self.BARS_FROM, height=0.7, color=figure_io.COLOURS[0]
        )
        beside = "" if share == 1 else f", {share:.2f} of the fastest"
        self.write(self.BARS_FROM + width + 0.005, place, f"{record['samples/s']}/s{beside}")


@functools.lru_cache(maxsize=None)
def letter_width(letter, weight):
    """Of its size."""
    font = font_manager.FontProperties(family=plt.rcParams["font.family"], weight=weight, size=100)
    return text_to_path.get_text_width_height_descent(letter, font, ismath=False)[0] / 100


def text_width(text, size, weight="normal"):
    """Points."""
    return size * sum(letter_width(letter, weight) for letter in text)


def wrapped(text, size, across, weight="normal"):
    """Lines within a share of the slide; DejaVu's letters are 0.58 high on average."""
    room = across * SLIDE[0] * POINTS
    letters = max(1, int(room / (0.58 * size)))
    while True:
        lines = textwrap.wrap(text, letters)
        if letters == 1 or all(text_width(line, size, weight) <= room for line in lines):
            return lines
        letters -= 1


def shortened(text, size, room):
    """The text, or as much of it as fits into so many points, and a sign for the rest."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + " …", size) > room:
        text = text[:-1]
    return text + " …"


class Slide:
    """Fills a slide from its top: beside a tall figure, or above a wide one."""

    BOTTOM = 0.06
    LEAST_FIGURE = 0.3  # of the slide's height, below text

    def __init__(self, beside, scale):
        self.figure = plt.figure(figsize=SLIDE)
        self.across = TEXT_BESIDE if beside else 1 - 2 * EDGE  # share of the slide
        self.top = 0.96
        self.scale = scale  # of the letters

    def has_room(self):
        """Whether the text leaves room for the foot, and for a figure below."""
        below = 0 if self.across == TEXT_BESIDE else self.LEAST_FIGURE
        return self.top >= self.BOTTOM + below

    def add_text(self, text, size, **more):
        size *= self.scale
        lines = wrapped(text, size, self.across, more.get("fontweight", "normal"))
        self.figure.text(
            EDGE, self.top, figure_io.label("\n".join(lines)), va="top", fontsize=size, **more
        )
        self.top -= self.line_height(size) * len(lines) + 0.015

    @staticmethod
    def line_height(size):
        return 1.25 * size / POINTS / SLIDE[1]

    def add_tiles(self, tiles):
        """In one row above a wide figure, in rows of two beside a tall one."""
        in_a_row = 2 if self.across == TEXT_BESIDE else max(1, len(tiles))
        for first in range(0, len(tiles), in_a_row):
            row = tiles[first : first + in_a_row]
            heights = [
                self.add_tile(EDGE + place * self.across / in_a_row, self.across / in_a_row, tile)
                for place, tile in enumerate(row)
            ]
            self.top -= max(heights) + 0.015

    def add_tile(self, x, across, tile):
        """Returns the height."""
        y = self.top
        name, value, *detail = tile
        across -= 0.015
        for text, size, colour in (
            (name, 9, figure_io.GREY),
            (value, 16, "black"),
            (" ".join(detail), 9, figure_io.GREY),
        ):
            size *= self.scale
            lines = wrapped(text, size, across)
            self.figure.text(
                x, y, figure_io.label("\n".join(lines)), va="top", fontsize=size, color=colour
            )
            y -= self.line_height(size) * len(lines)
        return self.top - y

    def add_axes(self):
        """Axes that fill what is left."""
        bottom = self.BOTTOM
        left, top = EDGE, self.top
        if self.across == TEXT_BESIDE:
            left, top = 2 * EDGE + TEXT_BESIDE, 0.96
        return self.figure.add_axes((left, bottom, 1 - EDGE - left, top - bottom))

    def add_foot(self, text):
        self.figure.text(
            EDGE, 0.02, figure_io.label(text), fontsize=9, color=figure_io.GREY, va="bottom"
        )


def is_tall(page):
    """Whether the figure is larger beside the text than below it."""
    return page.size is not None and page.size[1] > 0.75 * page.size[0]


def draw(page):
    trainings = trainings_of(page)
    for scale in (1, 0.85, 0.7, 0.55):
        slide = Slide(is_tall(page) and trainings is None, scale)
        slide.add_text(page.question, 20, fontweight="bold")
        slide.add_text(page.verdict, 13)
        slide.add_tiles(page.tiles)
        caption = page.caption if trainings is None else trainings.caption
        slide.add_text(caption, 10, color=figure_io.GREY)
        if slide.has_room():
            break
        plt.close(slide.figure)
    if trainings is not None:
        Trainings(slide.add_axes(), trainings)
    elif page.size:
        Drawing(slide.add_axes(), page)
    slide.add_foot(page.quality)
    return slide.figure


def main():
    parser = figure_io.parser_of(__doc__)
    parser.add_argument("page", help="index.html of dlscale report")
    arguments = parser.parse_args()
    figure_io.save(draw(read_page(arguments.page)), arguments.output, bbox_inches=None)


if __name__ == "__main__":
    figure_io.run(main)
