"""predict --parallel of CNNs in stages: what its verdict and its speed-up mean, and what memory does to the cut."""

import json

from program import ProgramTest, main, run

PLAN = ["--ranks", 8, "--dtype", "f32", "--cluster", "p40x16", "--parallel"]
GPIPE = "stages=4,schedule=gpipe,micro_batches=8"
MEMORY_NOTE = "memory decides the cut of stages"


class Stages(ProgramTest):
    def asked(self, network, batch, plan, *more):
        return run("predict", "--network", network, "--global-batch", batch, *PLAN, plan, *more)

    def row(self, *words):
        result = self.asked(*words, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        return answer["plans"][0], " ".join(answer["notes"])

    def test_the_verdict_says_how_likely_it_is(self):
        seen = set()
        for batch in (256, 640, 1280, 2560, 5120):
            row, _ = self.row("amoebanet_d", batch, GPIPE)
            fits = self.asked("amoebanet_d", batch, GPIPE, "--fits")
            chance = row["fit_chance"]
            self.assertEqual(fits.returncode, 0 if row["memory_bytes"] <= row["device_memory_bytes"] else 2, batch)
            self.assertEqual(chance >= 0.5, fits.returncode == 0, batch)
            text = " ".join(fits.stdout.split())
            words = ("Fits surely" if row["fits"] == "yes" else "Does not fit" if row["fits"] == "no" else
                     "Probably fits" if chance >= 0.75 else "Probably does not fit" if chance <= 0.25 else "Unsure whether it fits")
            self.assertIn(f"{words}: ", text)
            seen.add(words)
        self.assertGreaterEqual(len(seen), 3, seen)
        self.assertIn("Probably does not fit", seen)

    def test_the_speed_up_is_that_of_data_parallelism(self):
        for network, batch in [("resnet50", 256), ("vgg16", 128)]:
            plain = run("predict", "--network", network, "--global-batch", batch, *PLAN[:-1], "--format", "json")
            self.assertEqual(plain.returncode, 0, plain.stderr)
            [known] = json.loads(plain.stdout)["rows"]
            row, _ = self.row(network, batch, "data=8")
            for end in ("speedup", "speedup_low", "speedup_high"):
                self.assertAlmostEqual(row[end] / known[end], 1, delta=0.005, msg=end)

    def test_a_note_says_what_memory_does_to_the_cut(self):
        row, notes = self.row("resnet101", 512, GPIPE)
        self.assertIn(MEMORY_NOTE, notes)
        quicker = notes.split(MEMORY_NOTE + " (")[1].split(" takes")[0]
        stated, without = self.row("resnet101", 512, f"{GPIPE},stage_layers={quicker}")
        self.assertEqual((row["fits"], stated["fits"]), ("yes", "unsure"))
        self.assertLess(stated["t_iter_s"], row["t_iter_s"])
        self.assertLess(stated["fit_chance"], row["fit_chance"])
        self.assertNotIn(MEMORY_NOTE, without)

    def test_the_note_on_a_cut_names_its_row(self):
        words = ["predict", "--network", "resnet101", "--cluster", "p40x16", "--dtype", "f32", "--global-batch", 1024]
        two = run(*words, "--ranks", "8,16", "--parallel", GPIPE, "--format", "json")
        cuts = [note for note in json.loads(two.stdout)["notes"] if MEMORY_NOTE in note]
        self.assertEqual([note.split(" (")[0] for note in cuts], ["16 GPUs: " + MEMORY_NOTE])
        plans = run(*words, "--ranks", 16, "--parallel", "data=4,stages=4", "--parallel", f"data=4,{GPIPE}", "--format", "json")
        for note in json.loads(plans.stdout)["notes"]:
            if MEMORY_NOTE in note:
                self.assertRegex(note, "^[AB], 16 GPUs: ")
                self.assertNotIn("more)", note)


if __name__ == "__main__":
    main()
