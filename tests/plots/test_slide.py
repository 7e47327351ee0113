#!/usr/bin/env python3
"""Every page of a folder has a slide with all that its first screen says: test_slide.py FOLDER

Exits with 77 (skipped) where Python has no matplotlib.
"""

import html
import html.parser
import importlib.util
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FOLDER = None
PLOTS = pathlib.Path(__file__).resolve().parents[2] / "plots"


class FirstFigure(html.parser.HTMLParser):
    """The texts in the first SVG of a page, told apart from its titles and style."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.tags, self.ended = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        self.ended = self.ended or tag == "svg"
        while self.tags and self.tags.pop() != tag:
            pass

    def handle_data(self, data):
        if not self.ended and "svg" in self.tags and self.tags[-1] == "text":
            self.texts.append(data)


class SlideTest(unittest.TestCase):
    def draw(self, path):
        """All text of the slide, with single blanks."""
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder) / "slide.svg"
            figure = slide.draw(slide.read_page(path))
            slide.figure_io.save(figure, picture, bbox_inches=None)
            slide.plt.close(figure)
            root = xml.etree.ElementTree.parse(picture).getroot()
        parts = (
            " ".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")
        )
        return " ".join(" ".join(parts).split())

    def test_the_first_screen_of_each_page_is_on_its_slide(self):
        pages = [page for page in FOLDER.glob("*.html") if not page.name.startswith("rows")]
        self.assertGreater(len(pages), 5)
        for path in sorted(pages):
            with self.subTest(page=path.name):
                text = path.read_text(encoding="utf-8")
                first = FirstFigure(text).texts
                self.assertTrue(first)
                page = slide.read_page(path)
                heading = re.search("<h1>(.*)</h1>", text)[1]
                self.assertEqual(page.question, html.unescape(heading))
                self.assertGreater(len(page.tiles), 2)
                shown = self.draw(path)
                trainings = slide.trainings_of(page)  # shown in place of the figure
                figure = [page.caption, *first] if trainings is None else [trainings.caption]
                for said in (
                    page.question,
                    page.verdict,
                    page.quality,
                    *sum(page.tiles, []),
                    *figure,
                ):
                    self.assertIn(" ".join(said.split()), shown)

    def test_trainings_side_by_side_are_bars_the_fastest_first(self):
        headings = (
            "network",
            "ranks",
            "batch",
            "data type",
            "column",
            "device",
            "backend or framework",
            "basis",
            "samples/s",
        )
        rows = [
            ("vgg16", "1", "8", "f32", "A", "$GPU$", "onednn", "measured", "20"),
            ("vgg16", "1", "8", "f32", "B", "CPU", "", "predicted", "5"),
        ]
        rows += [
            ("alexnet", "2", str(batch), "f32", "B", "CPU", "", "measured", "9")
            for batch in range(30)
        ]
        table = "<table><caption>Trainings</caption>" + "".join(
            f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in (headings, *rows)
        )
        good = (FOLDER / "side_by_side.html").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            path.write_text(good.replace("<main>", "<main>" + table + "</table>"), encoding="utf-8")
            shown = self.draw(path)
        self.assertIn(
            "vgg16, 1 rank, batch 8, f32 A · $GPU$ · onednn 20/s B · CPU · predicted 5/s, 0.25 of the fastest",
            shown,
        )
        self.assertIn("alexnet, 2 ranks, batch 0, f32", shown)
        self.assertRegex(shown, r"9/s 2\d more are in the table of the page")

    def test_long_names_overlap_nothing(self):
        good = (FOLDER / "side_by_side.html").read_text(encoding="utf-8")
        long = "MEASURED_WITH_AN_EXTRAORDINARILY_LONG_NAME_OF_A_NETWORK " * 4
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            path.write_text(re.sub("<h1>.*</h1>", f"<h1>{long}</h1>", good), encoding="utf-8")
            page = slide.read_page(path)
        page.verdict = long
        page.tiles = [[long[:60], "123 456 images/s", long] for _ in range(5)]
        for trainings in slide.trainings_of(page).rows[1:]:
            trainings[0] = trainings[4] = long
        figure = slide.draw(page)
        draws = figure.canvas.get_renderer()
        texts = [*figure.texts, *figure.axes[0].texts]
        boxes = [text.get_window_extent(draws) for text in texts if text.get_text()]
        boxes += [bar.get_window_extent(draws) for bar in figure.axes[0].patches]
        slide.plt.close(figure)
        across, down = figure.bbox.width, figure.bbox.height
        for i, one in enumerate(boxes):
            self.assertTrue(0 <= one.x0 and one.x1 <= across and 0 <= one.y0 and one.y1 <= down, one)
            for other in boxes[:i]:
                self.assertFalse(one.shrunk(0.99, 0.9).overlaps(other.shrunk(0.99, 0.9)), (one, other))

    def test_other_pages_and_figures_are_refused(self):
        good = (FOLDER / "report.html").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            path.write_text("<h1>Mine</h1><p>A page of another program</p>", encoding="utf-8")
            with self.assertRaisesRegex(
                slide.figure_io.BadInputError, "page.html is not a page of dlscale report"
            ):
                slide.read_page(path)
            path.write_text(good.replace("<rect ", "<ellipse "), encoding="utf-8")
            with self.assertRaisesRegex(
                slide.figure_io.BadInputError, "<ellipse>, which is not drawn"
            ):
                slide.draw(slide.read_page(path))


if __name__ == "__main__":
    if importlib.util.find_spec("matplotlib") is None:
        print("skipped: this Python has no matplotlib (apt install python3-matplotlib)")
        sys.exit(77)
    FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
    sys.path.insert(0, str(PLOTS))
    import slide

    unittest.main()
