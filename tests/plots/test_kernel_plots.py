#!/usr/bin/env python3
"""Figures of convolutions, caches and ceilings say what the measurements say.

Usage: test_kernel_plots.py [FOLDER]   (with FOLDER the figures stay there to be looked at)
"""

import plot_case  # isort: skip (says where the scripts are)
import algorithms
import convolutions
import crossover
import roofline

KERNELS = {
    "conv1": ("convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1 bias", 1e9),
    "conv2": ("convolution c128 h56 w56 k128 r3 s3 stride1 pad1 groups1", 4e9),
    "conv3": ("convolution c64 h28 w28 k128 r5 s5 stride2 pad2 groups1", 2e9),
}
DIRECT = ("onednn", "direct")
IM2COL = ("native", "im2col")
WINOGRAD = ("native", "winograd_f4")
FFT = ("native", "fft")


def series(unit, median, half_width=0.01):
    summary = {
        "median": median,
        "ci95_low": median * (1 - half_width),
        "ci95_high": median * (1 + half_width),
    }
    return {"unit": unit, "samples": [[median]], "summary": summary}


def conv(layer, algorithm, seconds, of="forward", batch=4, half_width=0.01, **axes):
    """A row of bench conv; without seconds one that was refused."""
    kernel, flops = KERNELS[layer]
    row = {
        "benchmark": "conv",
        "axes": {
            "network": "net",
            "layer": layer,
            "kernel": kernel,
            "pass": of,
            "batch": str(batch),
            "backend": algorithm[0],
            "algorithm": algorithm[1],
            "dtype": "f32",
            "threads": "1",
            "ranks": "1",
            "ranks_on_node": "1",
            "cache": "cold",
            **axes,
        },
        "status": "ok" if seconds else "unsupported",
        "reason": "" if seconds else "stride 2: it needs 1",
        "series": {"time": series("s", seconds, half_width)} if seconds else {},
        "work": {"flops": batch * flops, "bytes": 1e6},
    }
    return row


def conv_rows(batch=4):
    """conv1 and conv2 share a cell of the map: Winograd is best at both together."""
    rows = []
    for of in ("forward", "backward_data"):
        for layer, times in {
            "conv1": {DIRECT: 3e-3, IM2COL: 4e-3, WINOGRAD: 2e-3},
            "conv2": {DIRECT: 12e-3, IM2COL: 14e-3, WINOGRAD: 8e-3},
            "conv3": {DIRECT: 1e-3, IM2COL: 1.005e-3, WINOGRAD: None},
        }.items():
            for algorithm, seconds in times.items():
                rows.append(conv(layer, algorithm, seconds and seconds * batch, of, batch))
            rows.append(conv(layer, ("onednn", "chosen"), 1e-6 * batch, of, batch))
    return rows


def timing(median, half_width=0.0):
    low, high = median * (1 - half_width), median * (1 + half_width)
    return convolutions.Timing(median, low, high, 1e9)


class CrossoverTest(plot_case.PlotCase):
    def write_rows(self, *rows):
        return self.write("conv.jsonl", plot_case.lines_of("conv", rows))

    def test_a_cell_names_the_fastest_and_its_lead(self):
        text = self.draw("crossover", self.write_rows(*conv_rows()))
        for word in ["F(4,3) 1.50 ×", "direct tie (1.00 ×)", "5 × 5, stride 2", "backward-data"]:
            self.assertIn(word, text.replace("\n", " "))
        for word in ["batch 4", "f32, 1 thread, cold caches", "native Winograd F(4,3)"]:
            self.assertIn(word, text)

    def test_sizes_that_were_not_measured_can_be_seen(self):
        self.assertIn("not measured", self.draw("crossover", self.write_rows(*conv_rows())))
        alone = [row for row in conv_rows() if row["axes"]["layer"] != "conv3"]
        self.assertNotIn("not measured", self.draw("crossover", self.write_rows(*alone)))

    def test_what_training_chooses_is_no_algorithm_of_its_own(self):
        path = self.write_rows(*conv_rows())
        self.assertNotIn("chosen", {a for _, a in convolutions.study_of([path], []).algorithms()})
        only = [conv("conv1", ("onednn", "chosen"), 1e-3)]
        self.assertIn("chosen", self.draw("crossover", self.write_rows(*only)))

    def test_shapes_of_a_cell_count_by_their_geometric_mean(self):
        first = {WINOGRAD: timing(1.0), DIRECT: timing(2.0)}
        second = {WINOGRAD: timing(3.0), DIRECT: timing(2.0), FFT: timing(0.1)}
        cell = crossover.cell_of([first, second])  # √3 against 2; FFT was not tried at the first
        self.assertEqual((cell.best, cell.won, cell.shapes), (WINOGRAD, 1, 2))
        self.assertAlmostEqual(cell.lead, 2 / 3**0.5)

    def test_a_lead_within_the_intervals_is_a_tie(self):
        wide = {WINOGRAD: timing(1.0, 0.05), DIRECT: timing(1.02, 0.05)}
        self.assertTrue(crossover.cell_of([wide]).tie)
        narrow = {WINOGRAD: timing(1.0, 0.001), DIRECT: timing(1.02, 0.001)}
        self.assertFalse(crossover.cell_of([narrow]).tie)

    def test_any_interval_that_overlaps_makes_a_tie(self):
        unsure = {WINOGRAD: timing(1.0, 0.001), DIRECT: timing(1.02, 0.001), FFT: timing(1.5, 0.5)}
        cell = crossover.cell_of([unsure])
        self.assertTrue(cell.tie)
        self.assertEqual(crossover.leaders(unsure), {WINOGRAD, FFT})

    def test_a_tie_counts_as_a_shape_where_none_is_faster(self):
        behind = {WINOGRAD: timing(1.02, 0.05), DIRECT: timing(1.0, 0.05)}
        ahead = {WINOGRAD: timing(1.0), DIRECT: timing(2.0)}
        cell = crossover.cell_of([behind, ahead])
        self.assertEqual((cell.best, cell.won), (WINOGRAD, 2))

    def test_refused_algorithms_do_not_count(self):
        refused = convolutions.Timing(None, reason="stride 2")
        cell = crossover.cell_of([{WINOGRAD: refused, DIRECT: timing(1.0)}])
        self.assertEqual((cell.best, cell.lead), (DIRECT, None))
        self.assertIsNone(crossover.cell_of([{WINOGRAD: refused}]).best)

    def test_kept_filters_do_not_win(self):
        kept = ("native", "winograd_f4_kept_filters")
        cell = crossover.cell_of([{kept: timing(0.5), WINOGRAD: timing(1.0), DIRECT: timing(2.0)}])
        self.assertEqual((cell.best, cell.lead, cell.won), (WINOGRAD, 2, 1))
        self.assertIsNone(crossover.cell_of([{kept: timing(0.5)}]).best)

    def test_a_cell_says_why_nobody_wins(self):
        kept = ("native", "winograd_f4_kept_filters")
        refused = convolutions.Timing(None, reason="stride 2")
        only_kept = {kept: timing(0.5), DIRECT: refused}
        texts = [
            crossover.cell_of(results).none_text()
            for results in (
                [only_kept],
                [only_kept] * 2,
                [{DIRECT: refused}],
                [only_kept, {}],
                [only_kept, only_kept | {DIRECT: timing(1.0)}],
            )
        ]
        kept_text, none_text = "only with\nkept filters", "none ran\nall shapes"
        self.assertEqual(texts, [kept_text, kept_text, "none ran", none_text, none_text])
        rows = [conv("conv1", kept, 1e-3), conv("conv1", DIRECT, None)]
        text = self.draw("crossover", self.write_rows(*rows)).replace("\n", " ")
        self.assertIn("only with", text)
        self.assertNotIn("none ran", text)

    def test_other_conditions_are_left_out_and_counted(self):
        hot = [conv("conv1", DIRECT, 1e-6, cache="hot"), conv("conv2", DIRECT, 1e-6, cache="hot")]
        path = self.write_rows(*conv_rows(), *hot)
        self.assertIn("2 measurements under other conditions", self.draw("crossover", path))
        text = self.draw("crossover", path, "--only", "cache=hot")
        self.assertIn("hot caches", text)
        self.assertNotIn("other conditions", text)

    def test_strides_that_differ_by_direction_are_left_out_and_counted(self):
        odd = conv("conv1", DIRECT, None)
        odd["axes"]["kernel"] = "convolution c1 h9 w9 k8 r3 s3 stride2x1 pad1 groups1"
        text = self.draw("crossover", self.write_rows(*conv_rows(), odd))
        self.assertIn("1 of strides or paddings that differ by direction are left out", text)

    def test_repeats_count_by_the_one_in_the_middle(self):
        rows = [conv("conv1", DIRECT, seconds, repeat=str(seconds)) for seconds in (1.0, 9.0, 2.0)]
        study = convolutions.study_of([self.write_rows(*rows)], [])
        (by,) = study.timings.values()
        self.assertEqual(by[DIRECT].median, 2.0)

    def test_what_is_not_there_is_refused(self):
        path = self.write_rows(*conv_rows())
        self.assert_refused(self.run_plot("crossover", path, "--batch", "9"), "batch 9", "4")
        refused = self.run_plot("crossover", path, "--pass", "backward_filter")
        self.assert_refused(refused, "backward-filter")
        self.assert_refused(self.run_plot("crossover", path, "--only", "hot"), "cache=cold")
        self.assert_refused(self.run_plot("crossover", self.write_rows()), "no convolution")

    def test_times_that_nothing_took_are_refused(self):
        for seconds in [-1.0, 5e-324, 1e308, float("nan"), float("inf")]:
            path = self.write_rows(*conv_rows(), conv("conv1", FFT, seconds))
            self.assert_refused(self.run_plot("crossover", path), f"line {len(conv_rows()) + 2}: ")

    def test_every_algorithm_looks_different(self):
        others = [("cuda", f"plan_{index}") for index in range(30)]
        styles = algorithms.styles([*algorithms.KNOWN, *others]).values()
        same_word = {("onednn", "winograd_f4"), ("onednn", "winograd")}  # of one backend, one way
        looks = {(style.colour, style.mark) for style in styles}
        self.assertEqual(len(looks), len(styles) - len(same_word) + 1)
        self.assertEqual(len({style.name for style in styles}), len(styles))
        self.assertEqual(algorithms.word_of("winograd_f4_fused"), "F(4,3) fused")


class BatchTest(plot_case.PlotCase):
    def test_a_panel_a_layer_with_its_shape(self):
        rows = [*conv_rows(1), *conv_rows(4), *conv_rows(16)]
        text = self.draw("batch_speed", self.write("c.jsonl", plot_case.lines_of("conv", rows)))
        for word in ["net conv2", "64 × 56 × 56 → 64, 3 × 3", "effective GFLOP/s", "forward"]:
            self.assertIn(word, text)
        path = str(self.where / "c.jsonl")
        few = self.draw("batch_speed", path, "--most", "1", "--pass", "backward_data")
        self.assertIn("the 1 of 3 kernels with most operations", few)
        self.assertIn("net conv2", few)
        self.assertNotIn("net conv1", few)

    def test_speed_is_that_of_the_direct_operations(self):
        import batch_speed

        rows = [conv("conv1", DIRECT, 0.5, batch=2), conv("conv1", DIRECT, None, batch=4)]
        study = convolutions.study_of(
            [self.write("c.jsonl", plot_case.lines_of("conv", rows))], []
        )
        (batches,) = batch_speed.batches_by_kernel(study, "forward").values()
        ((batch, rate, low, high),) = batch_speed.line_of(batches, DIRECT)
        self.assertEqual((batch, rate), (2, 2e9 / 0.5))
        self.assertLess(low, rate)
        self.assertGreater(high, rate)

    def test_one_batch_is_refused(self):
        path = self.write("c.jsonl", plot_case.lines_of("conv", conv_rows()))
        self.assert_refused(self.run_plot("batch_speed", path), "two batches", "--batch")


KIB = 1024


def levels_row(pages):
    row = {
        "benchmark": "latency",
        "axes": {"operation": "levels", "pages": pages, "stride": "64", "ranks_on_node": "1"},
        "status": "ok",
        "series": {
            "working_set": ("B", [64 * KIB, 4 * KIB, 16 * KIB, 256 * KIB, 1024 * KIB]),
            "latency": ("s", [4e-9, 1e-9, 1e-9, 4e-9, 80e-9]),
            "level_capacity": ("B", [46 * KIB, 512 * KIB, 1024 * KIB]),
            "level_capacity_high": ("B", [48 * KIB, 520 * KIB, 1024 * KIB]),
            "level_latency": ("s", [1.25e-9, 4e-9, 80e-9]),
            "told_capacity": ("B", [48 * KIB, 500 * KIB]),
        },
    }
    return as_series(row)


def pages_row():
    row = {
        "benchmark": "latency",
        "axes": {"operation": "page_reach", "pages": "small", "ranks_on_node": "1"},
        "status": "ok",
        "series": {
            "working_set": ("B", [64 * KIB, 256 * KIB, 1024 * KIB]),
            "latency": ("s", [1e-9, 2e-9, 9e-9]),
            "packed_latency": ("s", [1e-9, 1e-9, 1e-9]),
            "level_capacity": ("B", [300 * KIB]),
            "level_capacity_high": ("B", [320 * KIB]),
            "level_latency": ("s", [1e-9]),
        },
    }
    return as_series(row)


def as_series(row):
    row["series"] = {
        name: {"unit": unit, "samples": [values]} for name, (unit, values) in row["series"].items()
    }
    return row


class LatencyTest(plot_case.PlotCase):
    def rows(self, *rows):
        return self.write("latency.jsonl", plot_case.lines_of("latency", rows))

    def test_caches_stand_as_measured_and_as_told(self):
        text = self.draw("latency", self.rows(levels_row("small"), levels_row("huge"), pages_row()))
        for word in [
            "small pages; levels end at 46 KiB, 512 KiB",
            "huge pages; levels end at 46 KiB, 512 KiB",
            "caches as the system tells them: 48 KiB, 500 KiB",
            "1.25 ns",
            "80 ns",
            "small pages, one line of each; steps at 300 KiB",
            "as many lines side by side",
        ]:
            self.assertIn(word, text)

    def test_a_level_without_an_end_is_not_given_one(self):
        text = self.draw("latency", self.rows(levels_row("small")))
        self.assertIn("512 KiB", text)
        self.assertNotIn("512 KiB, 1 MiB", text)

    def test_a_second_run_is_told_apart(self):
        text = self.draw("latency", self.rows(levels_row("small"), levels_row("small")))
        self.assertIn("small pages, run 2", text)

    def test_rows_that_failed_are_not_drawn(self):
        lost = levels_row("huge")
        lost["status"] = "interrupted"
        self.assertNotIn("huge", self.draw("latency", self.rows(levels_row("small"), lost)))
        self.assert_refused(self.run_plot("latency", self.rows(lost)), "levels,page_reach")


def placed(layer, algorithm, time_s, rate, **other):
    backend, method = algorithm
    return {
        "backend": backend,
        "algorithm": method,
        "pass": "forward",
        "kernel": KERNELS[layer][0],
        "layers": [f"net {layer}", f"other {layer}_b"] if layer == "conv1" else [f"net {layer}"],
        "batch": 4,
        "threads": 1,
        "cache": "cold",
        "time_s": time_s,
        "intensity_flops_per_byte": 20.0,
        "effective_intensity_flops_per_byte": 70.0,
        "executed_flops_per_s": rate,
        "effective_flops_per_s": 2 * rate,
        **other,
    }


def roofline_document():
    return {
        "schema": "dlscale.roofline",
        "version": 1,
        "peak_flops_per_s": 1.5e11,
        "data_sheet_flops_per_s": None,
        "arithmetic_ceilings": [
            {"name": "products and convolutions", "flops_per_s": 1.4e11},
            {"name": "avx2", "flops_per_s": 9e10},
        ],
        "levels": [
            {"name": "L1", "capacity_bytes": 3e4, "bandwidth_bytes_per_s": 1.2e11},
            {"name": "DRAM", "capacity_bytes": 3e10, "bandwidth_bytes_per_s": 1e10},
        ],
        "kernels": [
            placed("conv1", DIRECT, 3e-3, 8e10),
            placed("conv1", WINOGRAD, 2e-3, 6e10),
            placed("conv2", DIRECT, 3e-3, 9e10),
            placed("conv2", DIRECT, 1e-3, 9e10, cache="hot"),
            placed("conv2", WINOGRAD, 4e-3, 9e10, **{"pass": "backward_data"}),
        ],
    }


class RooflineTest(plot_case.PlotCase):
    def setUp(self):
        super().setUp()
        self.shown = self.write("shown.json", roofline_document())

    def test_ceilings_layers_and_algorithms_are_named(self):
        text = self.draw("roofline", self.shown, "--network", "net")
        for word in [
            "L1, 120 GB/s",
            "DRAM, 10 GB/s",
            "140: products and convolutions",
            "90: avx2",
            "peak, 150 GFLOP/s",
            "net, forward, batch 4",
            "net, backward-data, batch 4",
            "1  conv1",
            "2  conv2",
            "native Winograd F(4,3)",
            "GFLOP/s executed by the algorithm",
            "1 kernels with other caches are left out",
        ]:
            self.assertIn(word, text)
        self.assertIn("1  conv1_b", self.draw("roofline", self.shown, "--network", "other"))

    def test_convolutions_of_a_list_stand_together(self):
        document = roofline_document()
        for layer, kernel in zip(("s00", "s01"), document["kernels"], strict=False):
            kernel["layers"] = [f"some_list_{layer} {layer}"]
        self.assertEqual(roofline.networks_of(document["kernels"][:2]), ["some_list"])

    def test_numbers_stand_at_the_fastest(self):
        marks = roofline.marks_of(roofline_document()["kernels"][:3], "net", "forward", 4)
        self.assertEqual(list(marks), ["conv1", "conv2"])
        self.assertEqual(roofline.fastest(marks["conv1"]), WINOGRAD)

    def test_what_is_not_there_is_refused(self):
        refused = self.run_plot("roofline", self.shown, "--network", "vgg16")
        self.assert_refused(refused, "vgg16", "net, other")
        refused = self.run_plot("roofline", self.shown, "--network", "other", "--pass", "backward_data")
        self.assert_refused(refused, "backward-data")
        empty = self.write("e.json", {**roofline_document(), "kernels": []})
        self.assert_refused(self.run_plot("roofline", empty, "--network", "net"), "no kernel")
        old = roofline_document()
        del old["kernels"][0]["executed_flops_per_s"]
        refused = self.run_plot("roofline", self.write("o.json", old), "--network", "net")
        self.assert_refused(refused, "executed_flops_per_s")


if __name__ == "__main__":
    plot_case.main()
