"""Answers on parallel plans keep within the columns of a narrow terminal, and of COLUMNS where there is none."""


from program import ProgramTest, main, on_terminal, run

PLAN = "tensor=8,sequence_parallel=true,stages=4,micro_batch=1,zero=1"
LLAMA = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64, "--global-batch", 256, "--parallel", PLAN]
PRICE = ["--tokens", "15T", "--cost-per-gpu-hour", 2]
SEARCH = ["plan", "--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks"]
RESNET = ["predict", "--network", "resnet101", "--cluster", "p40x16", "--ranks", 8, "--global-batch", 1024, "--parallel",
          "stages=4,schedule=gpipe,micro_batches=8"]
QUESTIONS = [
    LLAMA,
    [*LLAMA, "--explain"],
    [*LLAMA[:-1], "micro_batch=1,zero=3,recompute=full", "--explain"],
    [*LLAMA, "--memory", "--notes"],
    [*LLAMA, "--fits"],
    [*LLAMA, *PRICE[:2]],
    [*LLAMA, *PRICE],
    [*LLAMA[:-1], "tensor=8,micro_batch=1", "--parallel", PLAN, *PRICE],
    [*SEARCH, 64],
    [*SEARCH, 64, "--framework", "any", "--objective", "energy"],
    [*SEARCH, "8,16,32", *PRICE],
    [*SEARCH, 32, *PRICE],
    ["plan", "--network", "mixtral_8x7b", "--cluster", "dgx_h100", "--ranks", 64, *PRICE],
    ["predict", "--network", "t5_large", "--sequence", 64, "--cluster", "lassen", "--ranks", "64,1024", "--global-batch", 1024, "--parallel", "branches=8"],
    RESNET,
    [*RESNET, "--explain"],
    [*RESNET, "--memory"],
]


class NarrowTerminal(ProgramTest):
    def widest(self, columns, words):
        result = run(*words, variables={"COLUMNS": str(columns)})
        self.assertEqual(result.returncode, 0, result.stderr)
        # A word, such as a plan, cannot break: a shell would read two.
        lines = [line for line in result.stdout.splitlines() if len(line.removesuffix(" \\").split()) > 1]
        return max(lines, key=len)

    def test_eighty_columns_are_enough(self):
        for words in QUESTIONS:
            line = self.widest(80, words)
            self.assertLessEqual(len(line), 80, f"{words}\n{line}")

    def test_sixty_columns_are_enough_for_most(self):
        for words in [[*LLAMA, "--explain"], [*LLAMA, *PRICE]]:
            line = self.widest(60, words)
            self.assertLessEqual(len(line), 60, f"{words}\n{line}")

    def test_a_hundred_columns_hold_more(self):
        for words in [[*LLAMA, *PRICE], QUESTIONS[-4]]:
            line = self.widest(100, words)
            self.assertTrue(80 < len(line) <= 100, f"{words}\n{line}")

    def test_a_terminal_counts_before_the_variable(self):
        text = on_terminal(*LLAMA, "--explain", "--color", "never", size=(24, 80), variables={"COLUMNS": "100"})
        lines = text.split("\r\n")
        self.assertGreater(len(lines), 20)
        self.assertLessEqual(max(map(len, lines)), 80)


if __name__ == "__main__":
    main()
