"""Every network of configs/networks: what predicts it, and what refuses it."""

import json

from program import ProgramTest, main, run


class Networks(ProgramTest):
    def names(self):
        result = run("info", "--networks")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = result.stdout.split()
        self.assertIn("bert_large", names)
        self.assertGreater(len(names), 40)
        return names

    def iteration(self, network, *more):
        result = run("predict", "--network", network, "--cluster", "dgx_a100", "--ranks", "8", "--batch", "1",
                     "--dtype", "bf16", "--format", "json", *more)
        self.assertEqual(result.returncode, 0, network + ": " + result.stderr)
        [prediction] = json.loads(result.stdout)["predictions"]
        return prediction["time"]["t_iter_s"]

    def test_every_network_is_predicted_or_too_large(self):
        for name in self.names():
            result = run("predict", "--network", name, "--cluster", "dgx_a100", "--ranks", "1,8", "--batch", "1",
                         "--dtype", "bf16")
            if result.returncode == 2:
                self.assertIn("so it cannot run", result.stderr, name)
                self.assertTrue(name.startswith(("gpt3_", "llama", "mixtral_")), name)
                continue
            self.assertEqual(result.returncode, 0, name + ": " + result.stderr)

    def test_a_longer_sequence_takes_longer(self):
        short, long = (self.iteration("bert_large", "--sequence", length) for length in ("128", "512"))
        self.assertLess(short, long)
        self.assertEqual(long, self.iteration("bert_large"))

    def test_a_length_needs_a_sequence(self):
        for words, *parts in ((["resnet50", "--sequence", "128"], "resnet50 has no sequences whose length could be 128"),
                              (["bert_large", "--sequence", "513"], "layer \"position\" has 512 rows but reads 513 tokens"),
                              (["bert_large", "--sequence", "0"], "--sequence")):
            result = run("predict", "--network", *words, "--cluster", "dgx_a100", "--ranks", "8")
            self.assertEqual(result.returncode, 2, result.stderr)
            for part in parts:
                self.assertIn(part, result.stderr)

    def test_the_engine_says_which_layer_it_does_not_compute(self):
        for words in (["e2e", "--network", "bert_base"], ["overhead", "--network", "bert_base"],
                      ["conv", "--network", "bert_base"]):
            result = run("bench", *words)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("bert_base: layer \"word\" is of the kind embedding", result.stderr)
        result = run("bench", "conv", "--network", "inception_v3")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("is of the kind convolution with two strides, two pads or a dilation", result.stderr)
        result = run("bench", "gemm", "--network", "bert_base")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("bert_base has no convolutions", result.stderr)


if __name__ == "__main__":
    main()
