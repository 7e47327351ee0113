"""plan over all parallel plans of a transformer: what it answers, prints for frameworks, and refuses."""

import csv
import io
import json
import re

from program import ProgramTest, main, run

WORDS = ["plan", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64]


def product(plan):
    return plan["tensor"] * plan["context"] * plan["stages"] * plan["data"]


class PlanParallel(ProgramTest):
    def plan(self, *more, words=WORDS):
        result = run(*words, *more, "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def lines(self, framework, *more, words=WORDS):
        """The best plan that the framework runs, and its launch options by name."""
        answer = self.plan("--framework", framework, *more, words=words)
        self.assertEqual(answer["launch"]["framework"], framework)
        return answer["best"][0], answer["launch"]["lines"]

    def test_the_best_uses_all_gpus_and_fits(self):
        answer = self.plan("--global-batch", 512)
        self.assertEqual((answer["schema"], answer["fits"]), ("dlscale.parallel_plan", "surely"))
        self.assertGreater(answer["timed"] + answer["not_fitting"], 10_000)
        self.assertGreater(answer["not_fitting"], 0)
        for plan in answer["best"] + answer["neighbours"] + answer["memory_front"]:
            self.assertEqual(product(plan), 64)
            self.assertGreaterEqual(plan["memory_free_bytes"], 0)
            self.assertLess(plan["t_iter_low_s"], plan["t_iter_s"])
            self.assertGreater(plan["t_iter_high_s"], plan["t_iter_s"])
            self.assertGreaterEqual(plan["of_best"], 1)
        splits = [(p["tensor"], p["context"], p["stages"], p["data"]) for p in answer["best"]]
        self.assertEqual(len(set(splits)), len(splits))
        times = [plan["t_iter_s"] for plan in answer["best"]]
        self.assertEqual(times, sorted(times))
        changes = [plan["change"] for plan in answer["neighbours"]]
        self.assertTrue(any(re.match(r"tensor \d+ instead of \d+$", change) for change in changes), changes)
        self.assertEqual(answer, self.plan("--global-batch", 512), "the same answer each time")
        self.assertTrue(any("nodes like the" in note for note in answer["notes"]), answer["notes"])

    def test_predict_says_the_same(self):
        best = self.plan("--framework", "megatron")["best"][0]
        result = run("predict", *WORDS[1:], "--framework", "megatron", "--parallel", best["plan"], "--format", "csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        row = next(csv.DictReader(io.StringIO(result.stdout)))
        self.assertAlmostEqual(float(row["t_iter_s"]) / best["t_iter_s"], 1, delta=1e-12)

    def test_few_bits_are_quicker_and_refused_without_a_peak(self):
        usual = self.plan()["best"][0]["t_iter_s"]
        self.assertLess(self.plan("--dtype", "fp8")["best"][0]["t_iter_s"], usual)
        wide = self.plan("--dtype", "f32")
        self.assertGreater(wide["best"][0]["t_iter_s"], usual)
        self.assertTrue(any("f32 is computed without tf32" in note for note in wide["notes"]), wide["notes"])
        self.assert_refused(run(*WORDS, "--dtype", "fp4"), 2, "h100_sxm5_80gb", "no peak in 4 bits", "Take fp8")

    def test_a_dash_finds_the_network(self):
        dashed = self.plan(words=["plan", "--network", "llama3-70b", *WORDS[3:]])
        self.assertEqual(dashed["network"], "llama3_70b")

    def test_choices_hold(self):
        answer = self.plan("--parallel", "tensor=4,recompute=none/full,zero=1,micro_batch=1/2")
        for plan in answer["best"]:
            self.assertEqual((plan["tensor"], plan["zero"]), (4, 1))
            self.assertIn(plan["recompute"], ("none", "full"))
            self.assertIn(plan["micro_batch"], (1, 2))
        wide = self.plan("--parallel", "tensor=16")
        self.assertEqual(wide["best"][0]["tensor"], 16)

    def test_more_gpus_and_cost(self):
        words = ["plan", "--network", "llama2_7b", "--cluster", "dgx_h100", "--global-batch", 64, "--max-ranks", 64]
        quick = self.plan(words=words)
        gpus = [plan["gpus"] for plan in quick["gpu_front"]]
        self.assertEqual(gpus, sorted(gpus))
        self.assertEqual(quick["best"][0]["gpus"], 64)
        cheap = self.plan("--objective", "cost", "--cost-per-gpu-hour", 2, words=words)
        self.assertLess(cheap["best"][0]["gpus"], 64)
        self.assertTrue(any("GPU hour" in note for note in cheap["notes"]))

    def test_any_framework_is_as_quick_as_each_if_all_were_fitted(self):
        words = ["plan", "--network", "llama3_8b", *WORDS[3:]]
        answer = self.plan("--framework", "any", words=words)
        frameworks = ["megatron-core", "deepspeed", "torchtitan", "nanotron"]
        self.assertEqual(answer["frameworks"], frameworks)
        best = answer["best"][0]
        quickest = {one: self.plan("--framework", one, words=words)["best"][0]["t_iter_s"] for one in frameworks}
        self.assertNotEqual(best["framework"], "nanotron")
        self.assertAlmostEqual(best["t_iter_s"] / quickest[best["framework"]], 1, delta=1e-12)
        predicted = run("predict", *words[1:], "--framework", best["framework"], "--parallel", best["plan"], "--format", "csv")
        self.assertEqual(predicted.returncode, 0, predicted.stderr)
        row = next(csv.DictReader(io.StringIO(predicted.stdout)))
        self.assertAlmostEqual(float(row["t_iter_s"]) / best["t_iter_s"], 1, delta=1e-12)
        for plan in answer["best"] + answer["neighbours"]:
            self.assertGreaterEqual(plan["of_best"], 1)
        self.assertTrue(any("instead of Megatron-LM" in one["change"] for one in answer["neighbours"]))
        table = run(*words, "--framework", "any").stdout
        self.assertIn(" with megatron", table.splitlines()[0])
        self.assertIn("--tensor-model-parallel-size", table)

    def test_an_unknown_framework_is_named(self):
        answer = self.plan("--framework", "homemade", "--parallel", "stages=4,schedule=zero_bubble")
        self.assertEqual(answer["best"][0]["schedule"], "zero_bubble")
        for sentence in ("No family says which plans homemade runs", "No family names the framework homemade"):
            self.assertTrue(any(sentence in note for note in answer["notes"]), answer["notes"])
        self.assertNotIn("launch", answer)

    def test_another_device(self):
        small = ["plan", "--network", "llama2_7b", "--cluster", "dgx_a100", "--ranks", 8]
        usual = self.plan(words=small)["best"][0]
        larger = self.plan("--device", "a100_sxm4_80gb", words=small)["best"][0]
        self.assertGreater(larger["memory_bytes"] + larger["memory_free_bytes"], 1.9 * (usual["memory_bytes"] + usual["memory_free_bytes"]))
        self.assertLessEqual(larger["t_iter_s"], usual["t_iter_s"])
        self.assert_refused(run(*small, "--device", "a1000"), 2, "a1000")

    def test_least_energy(self):
        words = ["plan", "--network", "llama2_7b", "--cluster", "dgx_h100", "--global-batch", 64, "--max-ranks", 64]
        frugal = self.plan("--objective", "energy", words=words)
        quick = self.plan(words=words)
        self.assertLess(frugal["best"][0]["energy_j"], quick["best"][0]["energy_j"])
        self.assertEqual(frugal["best"][0]["energy_j"], min(plan["energy_j"] for plan in frugal["best"]))
        front = frugal["energy_front"]
        self.assertGreater(len(front), 1)
        self.assertEqual([plan["energy_j"] for plan in front], sorted((plan["energy_j"] for plan in front), reverse=True))
        # A GPU and its part of the node take 0.4 … 1.5 times the 700 W of the board's data sheet.
        best = frugal["best"][0]
        watts = best["energy_j"] / best["t_iter_s"] / best["gpus"]
        self.assertTrue(280 < watts < 1050, watts)
        self.assertIn("MJ", run(*words, "--objective", "energy").stdout)

    def test_a_whole_training(self):
        words = ["plan", "--network", "llama2_7b", "--cluster", "dgx_h100", "--ranks", "8,16,32,64", "--global-batch", 256]
        whole = ["--tokens", "1T", "--cost-per-gpu-hour", 2, "--objective", "cost"]
        cheap = self.plan(*whole, words=words)
        rows = {row["gpus"]: row for row in cheap["trainings"]}
        self.assertEqual(list(rows), [8, 16, 32, 64])
        for row in rows.values():
            self.assertAlmostEqual(row["price"], 2 * row["device_hours"], delta=1e-6 * row["price"])
            self.assertGreater(row["energy_kwh"], 0)
        days = rows[32]["with_failures_s"] / 86400
        limited = self.plan(*whole, "--time-limit", f"{days * 1.1} d", words=words)
        self.assertEqual(limited["best"][0]["gpus"], 32)
        self.assertGreater(limited["over_limits"], 0)
        self.assertIn(8, limited["unfit_gpus"])
        table = run(*words, *whole, "--time-limit", f"{days * 1.1} d").stdout
        for part in ("1T tokens", "GPU-hours", "MWh", "price", "keeps to the limits on 8"):
            self.assertIn(part, table)
        # A plan is one word of a command and cannot break.
        self.assertLessEqual(max(len(line) for line in table.splitlines() if len(line.rstrip(" \\").split()) > 1), 100)
        alone = ["predict", *words[1:6], 32, *words[7:], "--framework", "megatron", "--parallel", limited["best"][0]["plan"], "--tokens", "1T", "--format", "json"]
        predicted = json.loads(run(*alone).stdout)["trainings"][0]
        self.assertAlmostEqual(predicted["with_failures_s"] / rows[32]["with_failures_s"], 1, delta=0.01)
        self.assert_refused(run(*words, *whole, "--time-limit", "1 d"), 2, "keeps to the limits", "days", "more")
        self.assert_refused(run(*words, *whole, "--budget", 10), 2, "keeps to the limits", "costs")
        self.assert_refused(run(*words, "--time-limit", "30 d"), 2, "--time-limit", "--tokens")
        self.assert_refused(run(*words, "--tokens", "1K"), 2, "--tokens", "iteration")
        self.assert_refused(run(*words, "--tokens", "many"), 2, "--tokens")

    def test_long_sequences(self):
        answer = self.plan("--sequence", 131072, "--global-batch", 16, "--ranks", 128, words=WORDS[:5])
        self.assertGreater(answer["best"][0]["context"], 1)

    def test_progress(self):
        result = run("plan", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 1024)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^(plan: \d+ % of the plans, \d+ s; about \d+ (s|min) left\n)*$")

    def test_numbers_of_gpus_without_a_plan_are_named(self):
        words = [*WORDS[:5], "--ranks", "16,64"]
        self.assertEqual(self.plan(words=words)["unfit_gpus"], [16])
        text = run(*words).stdout
        self.assertIn("no plan fits on 16 GPUs", text)
        self.assertIn("global batch: 64 sequences", text)
        many = run(*WORDS[:5], "--ranks", "8..24:+1,64", "--format", "markdown").stdout
        self.assertIn("of the numbers, from 8 to", many)

    def layers(self, lines):
        """Layers of each stage, as Megatron-LM reads its layout: parentheses are repeated first, then letters."""
        layout = [line for line in lines if line.startswith("--pipeline-model-parallel-layout")][0].split('"')[1]
        for pattern in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
            layout = re.sub(pattern, lambda found: found[1] * int(found[2]), layout)
        self.assertTrue(layout.startswith("E") and layout.endswith("L"), layout)
        return [stage.count("t") for stage in layout.split("|")]

    def test_the_words_of_megatron(self):
        best, lines = self.lines("megatron", "--parallel", "stages=4,tensor=4,schedule=interleaved")
        options = dict(line.split(" ", 1) if " " in line else (line, "") for line in lines)
        self.assertEqual(int(options["--tensor-model-parallel-size"]), 4)
        self.assertEqual(int(options["--pipeline-model-parallel-size"]), 4)
        self.assertEqual(int(options["--num-layers-per-virtual-pipeline-stage"]), 80 // 4 // best["chunks"])
        self.assertEqual(int(options["--micro-batch-size"]), best["micro_batch"])
        self.assertEqual(int(options["--global-batch-size"]), 64)
        self.assertEqual("--sequence-parallel" in options, best["sequence_parallel"])
        self.assertEqual("--use-distributed-optimizer" in options, best["zero"] > 0)
        self.assertEqual("--recompute-granularity" in options, best["recompute"] != "none")
        uneven, lines = self.lines("megatron", "--ranks", 48, "--global-batch", 48, "--parallel", "stages=3")
        self.assertEqual(self.layers(lines), uneven["stage_layers"])
        self.assertEqual(len(uneven["stage_layers"]), 3)
        many, lines = self.lines("megatron", "--ranks", 96, "--global-batch", 96, "--parallel", "stages=12,tensor=8")
        self.assertEqual(self.layers(lines), many["stage_layers"])
        self.assertLessEqual(max(map(len, lines)), 60)

    def test_the_words_of_deepspeed(self):
        best, lines = self.lines("deepspeed")
        settings = json.loads("\n".join(line for line in lines if not line.startswith("#")))
        self.assertEqual(settings["zero_optimization"]["stage"], best["zero"])
        batch = settings["train_micro_batch_size_per_gpu"] * settings["gradient_accumulation_steps"]
        self.assertEqual(batch * best["data"], settings["train_batch_size"])
        self.assertEqual(best["tensor"], 1)

    def test_the_words_of_torchtitan(self):
        best, lines = self.lines("torchtitan")
        settings = dict(line.split(" = ") for line in lines if " = " in line)
        replicas = int(settings["data_parallel_replicate_degree"]) * int(settings["data_parallel_shard_degree"])
        self.assertEqual(replicas, best["data"])
        self.assertEqual(int(settings["tensor_parallel_degree"]), best["tensor"])
        self.assertEqual(settings["mode"], f'"{best["recompute"]}"')
        self.assertIn("[activation_checkpoint]", lines)
        self.assertIn(best["zero"], (0, 2, 3))

    def test_the_words_of_nanotron(self):
        best, lines = self.lines("nanotron")
        settings = dict(line.strip().split(": ") for line in lines if ": " in line)
        self.assertEqual([int(settings[key]) for key in ("dp", "pp", "tp")], [best["data"], best["stages"], best["tensor"]])
        batch = int(settings["micro_batch_size"]) * int(settings["batch_accumulation_per_replica"])
        self.assertEqual(batch * best["data"], 64)
        self.assertEqual(settings["tp_mode"], "REDUCE_SCATTER" if best["sequence_parallel"] else "ALL_REDUCE")
        self.assertLessEqual(best["zero"], 1)

    def test_each_hiding_trait_has_its_option(self):
        plan = ["--parallel", "tensor=8,sequence_parallel=true,zero=1,stages=1/2"]
        hiding = {"--overlap-grad-reduce", "--overlap-param-gather", "--tp-comm-overlap"}
        lines = self.lines("megatron", *plan)[1]
        self.assertEqual(hiding & set(lines), {"--overlap-grad-reduce", "--tp-comm-overlap"})
        self.assertIn("--bf16", lines)
        nemo = ["--framework", "nemo", "--launch-options", "megatron"]
        self.assertLessEqual(hiding, set(self.plan(*nemo, *plan)["launch"]["lines"]))
        experts = ["--parallel", "experts=8,stages=1,recompute=none"]
        mixtral = ["plan", "--network", "mixtral_8x7b", *WORDS[3:]]
        hides = "--overlap-moe-expert-parallel-comm"
        self.assertNotIn(hides, self.lines("megatron", *experts, words=mixtral)[1])
        self.assertIn(hides, self.plan(*nemo, *experts, words=mixtral)["launch"]["lines"])
        # Software of 2021 hides gradients alone, and nanotron nothing.
        lines = self.lines("megatron", "--dtype", "f16", *plan, words=[*WORDS[:3], "--cluster", "p4d_24xlarge", "--ranks", 256])[1]
        self.assertEqual(hiding & set(lines), {"--overlap-grad-reduce"})
        self.assertIn("--fp16", lines)
        other = self.plan("--framework", "nanotron", "--launch-options", "megatron", *plan)["launch"]["lines"]
        self.assertFalse(hiding & set(other))

    def test_overlap_of_tensor_messages_is_chosen_and_printed(self):
        for framework in ["megatron", "nemo"]:
            words = ["--framework", framework, "--launch-options", "megatron", "--parallel"]
            chosen = self.plan(*words, "tensor=8,sequence_parallel=true")
            plain = self.plan(*words, "tensor=8,sequence_parallel=true,tensor_overlap=false")
            self.assertLess(chosen["best"][0]["t_iter_s"], plain["best"][0]["t_iter_s"])
            self.assertEqual([("tensor_overlap=true" in one["best"][0]["plan"], one["best"][0]["tensor_overlap"]) for one in (chosen, plain)],
                             [(True, True), (False, False)])
            self.assertIn("--tp-comm-overlap", chosen["launch"]["lines"])
            self.assertNotIn("--tp-comm-overlap", plain["launch"]["lines"])
            whole = self.plan(*words, "tensor=8,sequence_parallel=false")
            self.assertNotIn("--tp-comm-overlap", whole["launch"]["lines"])
            rows = list(csv.DictReader(io.StringIO(run(*WORDS, "--framework", framework, "--parallel", "tensor=8,sequence_parallel=true", "--format", "csv").stdout)))
            self.assertEqual({row["tensor_overlap"] for row in rows}, {"true"})
        self.assertIn("[compile]", self.lines("torchtitan")[1])
        self.assertNotIn("[compile]", self.lines("torchtitan", "--parallel", "compile=false")[1])
        self.assert_refused(run(*WORDS, "--parallel", "compile=true"), 2, "compile is true", "torchtitan")
        asked = self.plan("--framework", "torchtitan", "--parallel", "tensor=8,tensor_overlap=true")
        self.assertIn("enable_async_tensor_parallel = true", asked["launch"]["lines"])
        self.assertNotIn("enable_async_tensor_parallel = true", self.lines("torchtitan", "--parallel", "tensor=8")[1])

    def test_each_precision_has_its_option(self):
        narrow = self.lines("megatron", "--dtype", "fp8")[1]
        self.assertLessEqual({"--bf16", "--fp8-format hybrid"}, set(narrow))
        self.assertFalse({"--bf16", "--fp16"} & set(self.lines("megatron", "--dtype", "f32")[1]))
        deepspeed = json.loads("\n".join(line for line in self.lines("deepspeed")[1] if not line.startswith("#")))
        self.assertEqual(deepspeed["bf16"], {"enabled": True})
        self.assertTrue(deepspeed["zero_optimization"]["overlap_comm"])
        titan = self.lines("torchtitan", "--dtype", "fp8")[1]
        for line in ('mixed_precision_param = "bfloat16"', 'converters = ["quantize.linear.float8"]', "[compile]"):
            self.assertIn(line, titan)
        self.assertIn("  dtype: bfloat16", self.lines("nanotron")[1])

    def test_tables_and_records(self):
        table = run(*WORDS).stdout
        # A plan is one word of a command and cannot break.
        self.assertLessEqual(max(len(line) for line in table.splitlines() if len(line.rstrip(" \\").split()) > 1), 100)
        for words in ("plans fit and were timed", "do not fit", "tokens/s", "of peak", "GB free", "launch options", "--tensor-model-parallel-size", "one choice made otherwise"):
            self.assertIn(words, table)
        rows = list(csv.DictReader(io.StringIO(run(*WORDS, "--format", "csv").stdout)))
        self.assertEqual({row["part"] for row in rows} - {"memory", "energy"}, {"best", "neighbour"})
        self.assertTrue(all(float(row["t_iter_s"]) > 0 for row in rows))

    def test_a_group_of_all_replicas_is_none(self):
        best = self.plan("--parallel", "tensor=8,stages=2,zero=1,zero_group=4")["best"][0]
        alone = self.plan("--parallel", "tensor=8,stages=2,zero=1,zero_group=0")["best"][0]
        self.assertEqual(best, alone)

    def test_advice_goes_in_no_circle(self):
        overlap = [*WORDS, "--framework", "torchtitan", "--parallel", "tensor=1,tensor_overlap=true"]
        first = run(*overlap)
        self.assert_refused(first, 2, "No plan can be")
        if "Write sequence_parallel=true" in first.stderr:
            second = run(*overlap[:-1], overlap[-1] + ",sequence_parallel=true")
            self.assert_refused(second, 2, "No plan can be")
            self.assertNotIn("Write sequence_parallel=true", second.stderr)

    def test_what_it_refuses(self):
        small = ["plan", "--network", "llama3_70b", "--cluster", "dgx_h100"]
        for words, parts in [
            ([*small, "--ranks", 4], ["No plan surely fits", "GB more", "--ranks"]),
            ([*WORDS, "--parallel", "tensor=4", "--epochs", 1], ["--parallel", "--epochs"]),
            (["plan", "--network", "resnet50", "--cluster", "dgx_h100", "--fits", "likely"], ["--fits", "resnet50 is cut by its layers", "predict --parallel"]),
            ([*small, "--ranks", 100_000_000], ["100000000 GPUs", "1000000"]),
            ([*small, "--max-ranks", 2_000_000], ["2000000 GPUs", "1000000"]),
            ([*WORDS, "--parallel", "tensor=3"], ["tensor 3 does not divide 64 GPUs. Take a divisor."]),
            ([*WORDS, "--parallel", "experts=2"], ["experts is 2, and the network has no experts"]),
            ([*WORDS, "--parallel", "tensor=8,chunks=3,stages=2,micro_batch=3"], ["No plan can be"]),
            ([*WORDS, "--parallel", "tensors=4"], ["tensors", "tensor"]),
            ([*WORDS, "--objective", "efficiency"], ["efficiency", "time, cost"]),
            ([*small, "--ranks", 720720, "--framework", "any"], ["million plans", "zero_group=0"]),
            (["plan", "--network", "resnet50", "--cluster", "dgx_h100", "--tokens", "1T"], ["--tokens", "resnet50 is none", "--epochs N."]),
            (["plan", "--network", "bert_large", "--cluster", "dgx_h100", "--tokens", "1T"], ["--tokens", "--epochs N --samples N."]),
            (["plan", "--network", "t5_base", "--cluster", "dgx_h100", "--ranks", 16], ["Give --samples N."]),
            (["plan", "--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks", 1], ["No plan surely fits", "on 1 GPU:"]),
            (["plan", "--network", "resnet50", "--cluster", "dgx_h100", "--epochs", 1, "--device", "h200"], ["--device", "--epochs"]),
            ([*WORDS, "--launch-options", "megatorn"], ["megatorn", "megatron"]),
            ([*WORDS, "--framework", "any", "--parallel", "schedule=zero_bubble,stages=4"], ["No plan can be", "schedule=zero_bubble", "none of Megatron-LM, DeepSpeed, torchtitan, nanotron as published runs it"]),
            ([*WORDS, "--parallel", "tensor=8,micro_batch=3"], ["No plan can be on 64 GPUs", "micro_batch is 3, and the share of a global batch of 64 has 8 samples"]),
            ([*WORDS, "--parallel", "tensor_overlap=true,sequence_parallel=false"], ["tensor_overlap is true without sequence_parallel"]),
            ([*WORDS, "--framework", "nanotron", "--parallel", "zero=3"], ["zero=3", "nanotron as published does not run it", "ZeRO 0 or 1"]),
            ([*WORDS, "--framework", "deepspeed", "--parallel", "tensor=8"], ["tensor=8", "DeepSpeed as published does not run it"]),
            ([*WORDS, "--framework", "deepspeed", "--parallel", "tensor_overlap=true"], ["sends no messages under products"]),
            ([*WORDS, "--framework", "torchtitan", "--parallel", "tensor_overlap=true,compile=false"], ["tensor_overlap is true without compile"]),
            ([*WORDS, "--framework", "fsdp", "--parallel", "tensor_overlap=true"], ["sends no messages under products"]),
            ([*WORDS[:3], "--cluster", "dgx_a100", "--ranks", 64, "--parallel", "tensor_overlap=true"], ["sends no messages under products"]),
            ([*WORDS, "--parallel", "tensor=8,stages=16"], ["are 128 ranks, and there are 64 devices"]),
            ([*WORDS, "--parallel", "tensor=8,stages=8,zero=1"], ["zero is 1", "one replica"]),
            ([*WORDS, "--parallel", "tensor=8,stages=2,zero=1,zero_group=1"], ["zero_group is 1", "zero_group=0"]),
            ([*WORDS, "--parallel", "stages=64,chunks=2"], ["stages 64 × chunks 2 are 128 parts of 80 layers"]),
            ([*WORDS, "--parallel", "tensor=8,stages=3"], ["stages 3 does not divide 64 GPUs"]),
            ([*WORDS, "--parallel", "tensor=8,stages=4,chunks=3"], ["stages 4 × chunks 3 are 12 parts of 80 layers"]),
            ([*WORDS, "--parallel", "schedule=gpipe"], ["schedule=gpipe: Megatron-LM as published does not run it", "neither GPipe"]),
            ([*WORDS, "--framework", "megatron,nanotron"], ["megatron,nanotron", "Name one, or any."]),
            ([*WORDS, "--framework", "homemade", "--parallel", "schedule=zero_bubble,stages=4", "--launch-options", "nanotron"], ["nanotron", "zero bubbles"]),
            (["plan", "--network", "gpt2", "--cluster", "dgx_h100", "--batch", 8], ["--samples"]),
            ([*WORDS, "--measured", "64=31 s"], ["--measured does not go with the search over parallel plans", "predict --parallel PLAN"]),
            ([*WORDS, "--measured", "64=31 s", "--fits", "likely"], ["--fits", "--measured"]),
        ]:
            self.assert_refused(run(*words), 2, *parts)


if __name__ == "__main__":
    main()
