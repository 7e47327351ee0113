"""predict --parallel: forms of the answer, what it refuses, and exit codes of --fits."""

import csv
import io
import json
import pathlib
import re
import tempfile

from program import ProgramTest, main, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LLAMA = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--global-batch", 1024, "--dtype", "bf16"]
PLAN = "tensor=8,sequence_parallel=true,stages=4,micro_batch=1,zero=1"
SMALL = ["predict", "--network", "llama2_7b", "--cluster", "dgx_h100", "--global-batch", 64, "--framework", "nanotron"]
RESNET = ["predict", "--network", "resnet50", "--cluster", "dgx_h100", "--global-batch", 64]
PARTS = ["t_compute_s", "t_layer_messages_s", "t_bubble_s", "t_gradients_s", "t_update_s"]


class PredictParallel(ProgramTest):
    def test_the_answer_repeats_the_plan_in_few_lines(self):
        text = self.answered(*LLAMA, "--ranks", 512, "--framework", "megatron", "--parallel", PLAN)
        lines = text.splitlines()
        verdict, _, below = text.partition("\nNext:\n")[0].partition("\n\n")
        self.assertLessEqual(len(verdict.splitlines()), 3, text)
        self.assertLessEqual(len(below.splitlines()), 15, text)
        self.assertLessEqual(max(map(len, lines)), 100, text)
        words = " ".join(text.split())
        for part in [f"data=16,{PLAN}", "64 micro-batches of 1 sequence", "1024 sequences of 8192 tokens", "as megatron (family core)",
                     "tokens/s", "MFU", "bound by", "Rests on data sheets and", "Next: ",
                     "64 nodes like the 1 of dgx_h100"]:
            self.assertIn(part, words)

    def test_parts_of_the_step_add_up(self):
        for row in self.plans(*LLAMA, "--ranks", "256,512", "--parallel", PLAN, "--parallel", "tensor=8,zero=3,micro_batch=1"):
            self.assertAlmostEqual(sum(row[part] for part in PARTS) / row["t_iter_s"], 1, places=9)
            self.assertLess(row["t_iter_low_s"], row["t_iter_s"])
            self.assertLess(row["t_iter_s"], row["t_iter_high_s"])
            self.assertAlmostEqual(row["tokens_per_s"] * row["t_iter_s"] / (1024 * 8192), 1, places=9)
            self.assertTrue(0 < row["model_flop_utilisation"] < 1)

    def test_another_card_keeps_the_links(self):
        words = [*LLAMA, "--ranks", 64, "--parallel", PLAN]
        [own] = self.plans(*words)
        [other] = self.plans(*words, "--device", "H200 SXM")
        self.assertGreater(other["device_memory_bytes"], 1.6 * own["device_memory_bytes"])
        self.assertLess(other["t_iter_s"], own["t_iter_s"])
        self.assertEqual(other["t_bubble_s"] > 0, True)
        sheet = self.folder / "card.yaml"
        sheet.write_text((SOURCE / "configs" / "devices" / "h200_sxm.yaml").read_text())
        self.assertEqual(self.plans(*words, "--device", sheet), [other])
        text = " ".join(self.answered(*words, "--device", "h200_sxm").split())
        self.assertIn("in place of NVIDIA H100", text)
        self.assertIn("hosts and links, and the generation in NCCL's cost model, are those of before", text)
        self.assert_refused(run(*words, "--device", "h2000"), 2, "not one GPU with a data sheet")
        stages = [*RESNET, "--ranks", 8, "--parallel", "stages=4,micro_batches=8"]
        for asked in (words, stages):
            self.assert_refused(run(*asked, "--device", "h200_sxm", "--measured", "8=9 s"), 2, "which GPU was measured")
        self.assertIn("in place of NVIDIA H100", " ".join(self.answered(*stages, "--device", "h200_sxm").split()))

    def test_frameworks_take_one_sequence_at_a_time(self):
        [row] = self.plans(*LLAMA, "--ranks", 64, "--parallel", "tensor=8,sequence_parallel=true,stages=4,zero=1")
        self.assertIn("micro_batch=1", row["plan"])
        self.assertEqual(row, self.plans(*LLAMA, "--ranks", 64, "--parallel", PLAN)[0])
        small = [*SMALL[:5], "--global-batch", 512, "--ranks", 8, "--parallel"]
        self.assertEqual(self.plans(*small, "zero=1")[0]["micro_batch"], 1)  # 64 at once would not fit
        self.assertEqual(self.plans(*small, "zero=1,micro_batches=1")[0]["micro_batch"], 64)
        self.assertIn("micro_batch=1, as frameworks do", " ".join(self.answered(*small, "zero=1").split()))
        gpt = ["predict", "--network", "gpt2", "--cluster", "dgx_h100", "--ranks", 8, "--global-batch", 64, "--parallel"]
        self.assertEqual(self.plans(*gpt, "zero=1")[0]["micro_batch"], 8)
        basic = [*SMALL, "--ranks", 8, "--parallel", "stages=8,schedule=gems_mast"]  # takes two micro-batches
        self.assert_refused(run(*basic), 2, "gems_mast")
        interleaved = [*LLAMA[:5], "--ranks", 64, "--global-batch", 256, "--parallel", "tensor=8,schedule=interleaved,stages=4"]
        self.assert_refused(run(*interleaved), 2, "1 chunk and 128 micro-batches")

    def test_a_plan_that_its_framework_does_not_run_is_named(self):
        words = [*LLAMA, "--ranks", 64, "--framework", "megatron", "--parallel"]
        text = " ".join(self.answered(*words, PLAN + ",schedule=zero_bubble").split())
        self.assertIn("Megatron-LM as published does not run this plan", text)
        self.assertNotIn("as published", self.answered(*words, PLAN))

    def test_verdicts_name_a_framework_that_does_not_run_the_plan(self):
        words = [*LLAMA, "--ranks", 64, "--parallel", PLAN, "--framework"]
        for asked in ([], ["--memory"], ["--fits"]):
            verdict = " ".join(run(*words, "torchtitan", *asked).stdout.partition("\n\n")[0].split())
            self.assertTrue(verdict.endswith("; torchtitan as published does not run this plan."), verdict)
            self.assertNotIn("as published", run(*words, "megatron", *asked).stdout)

    def test_only_the_fullest_stage_needs_the_memory_of_the_verdict(self):
        words = [*LLAMA, "--ranks", 64, "--parallel", PLAN]
        kept, fits = (run(*words, asked).stdout.partition("\n\n")[0] for asked in ("--memory", "--fits"))
        self.assertIn("a rank of stage 1 needs", " ".join(fits.split()))
        self.assertEqual(fits, kept)

    def test_plain_answers_of_decoders_name_the_model_of_plans(self):
        words = ["predict", "--network", "gpt2_xl", "--cluster", "dgx_h100", "--ranks", 8]
        text = " ".join(self.answered(*words, "--dtype", "bf16", "--batch", 4).split())
        said = re.search(r"a step takes (\S+) ms .*\(--framework (\S+)\), (\S+) ms .*\(--framework (\S+)\), at 8 GPUs; .* "
                         r"Ask it by --global-batch (\d+) --parallel (\S+)\.", text)
        self.assertTrue(said, text)
        fused, first, plain, second, batch, plan = said.groups()
        for shown, framework in [(fused, first), (plain, second)]:
            [row] = self.plans(*words, "--dtype", "bf16", "--global-batch", batch, "--framework", framework, "--parallel", plan)
            self.assertAlmostEqual(float(shown) / (1e3 * row["t_iter_s"]), 1, places=3)
            for batches in ["4", "2,4"]:  # one row, and a sweep
                rows = csv.DictReader(io.StringIO(self.answered(*words, "--dtype", "bf16", "--batch", batches, "--format", "csv")))
                last = list(rows)[-1]
                self.assertLessEqual(float(last["t_iter_low_s"]), row["t_iter_low_s"] * (1 + 1e-9))
                self.assertGreaterEqual(float(last["t_iter_high_s"]), row["t_iter_high_s"] * (1 - 1e-9))
        memory = " ".join(self.answered(*words, "--dtype", "bf16", "--batch", 4, "--memory").split())
        need = float(re.search(r"with a batch of 4, a rank needs (\S+) GB", memory).group(1))
        [row] = self.plans(*words, "--dtype", "bf16", "--global-batch", 32, "--framework", first, "--parallel", "micro_batch=4", "--memory")
        self.assertAlmostEqual(1e9 * need / row["memory_bytes"], 1, places=2)
        for more in [["--batch", 4, "--notes"], ["--batch", 4, "--explain"], ["--batch", "2,4"], ["--batch", 4, "--tokens", "3T"]]:
            self.assertIn("model of parallel plans", " ".join(self.answered(*words, "--dtype", "bf16", *more).split()))
        for more in [["--batch", 4], ["--dtype", "bf16", "--framework", "pytorch_ddp"]]:
            self.assertNotIn("parallel plans", " ".join(self.answered(*words, *more).split()))
        bert = self.answered("predict", "--network", "bert_base", "--cluster", "dgx_h100", "--ranks", 8, "--dtype", "bf16")
        self.assertNotIn("parallel plans", " ".join(bert.split()))
        for framework in ["megatron-core", "fsdp"]:
            self.assert_refused(run(*words, "--framework", framework), 2, "Parallel plans know it: add --parallel")
        self.assertNotIn("Parallel plans", run(*RESNET[:5], "--ranks", 8, "--framework", "megatron").stderr)
        large = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 64, "--dtype", "bf16"]
        self.assert_refused(run(*large), 2, "Ranks may share it: --parallel zero=3,micro_batch=1,recompute=full.")

    def test_replicas_follow_the_ranks(self):
        rows = self.plans(*LLAMA, "--ranks", "64,128", "--parallel", PLAN)
        self.assertEqual([row["plan"].split(",")[0] for row in rows], ["data=2", "data=4"])
        self.assertEqual([row["micro_batches"] for row in rows], [512, 256])
        stated = self.plans(*LLAMA, "--parallel", "data=2," + PLAN)
        for row in stated:
            row.pop("pipeline", None)  # of the plan that the page draws
        self.assertEqual(stated, rows[:1])

    def test_records_have_a_row_a_plan(self):
        text = self.answered(*LLAMA, "--ranks", 64, "--parallel", PLAN, "--parallel", "tensor=8,zero=3", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(rows), 2)
        self.assertEqual(rows[0]["ranks"], "64")
        self.assertIn(rows[0]["fits"], ["yes", "no", "unsure"])

    def test_a_plan_that_cannot_run_is_left_out_beside_others(self):
        text = " ".join(self.answered(*LLAMA, "--ranks", "60,64", "--parallel", PLAN).split())
        self.assertIn("left out: ", text)
        self.assertIn("do not divide 60", text)
        self.assert_refused(run(*LLAMA, "--ranks", 60, "--parallel", PLAN), 2, "do not divide 60")

    def test_fits_is_an_exit_code(self):
        fits = ["--parallel", "data=64,zero=3,micro_batch=1", "--fits"]
        small = [*SMALL, "--dtype", "bf16"]
        text = self.answered(*small, *fits)
        self.assertIn("Fits surely: the fullest GPU", text)
        self.assertEqual(self.plans(*small, *fits)[0]["fits"], "yes")
        text = self.answered(*small, "--parallel", "data=8,micro_batch=8", "--fits", code=2)
        self.assertIn("Does not fit: the fullest GPU", text)
        self.assertIn("It would fit with", text)
        row = self.plans(*small, "--parallel", "data=8,micro_batch=8", "--fits", code=2)[0]
        self.assertEqual(row["fits"], "no")
        self.assertGreater(len(row["would_fit"]), 0)
        self.assertTrue(all(one["surely"] for one in row["would_fit"]), row["would_fit"])
        times = [one["t_iter_s"] for one in row["would_fit"]]
        self.assertEqual(times, sorted(times))
        self.answered(*small, "--parallel", "data=8,micro_batch=8", "--memory", "--fits", code=2)
        some = [*small, "--ranks", 64, "--parallel", "zero=3,micro_batch=1", "--parallel", "tensor=3", "--fits"]
        self.assertIn("left out: tensor=3", self.answered(*some, code=2))

    def test_what_would_fit_does(self):
        small = [*SMALL, "--dtype", "bf16", "--ranks", 8]
        row = self.plans(*small, "--parallel", "data=8,micro_batch=8", "--fits", code=2)[0]
        changed = dict(word.split("=") for word in "data=8,micro_batch=8".split(","))
        changed |= dict(word.split("=") for word in row["would_fit"][0]["change"].split(","))
        plan = ",".join(f"{key}={value}" for key, value in changed.items())
        again = self.plans(*small, "--parallel", plan)[0]
        self.assertAlmostEqual(again["t_iter_s"], row["would_fit"][0]["t_iter_s"], places=9)
        self.assertEqual(again["fits"], "yes")

    def test_memory_is_by_stage_and_kind(self):
        words = [*LLAMA, "--ranks", 64, "--framework", "megatron", "--parallel", PLAN, "--memory"]
        text = self.answered(*words)
        self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
        for word in ["weights", "activations", "Least known", "[W"]:
            self.assertIn(word, text)
        row = self.plans(*words)[0]
        self.assertEqual(len(row["stages"]), 4 * 3)
        self.assertEqual({stage["stage"] for stage in row["stages"]}, {1, 2, 3, 4})
        self.assertAlmostEqual(max(stage["total_bytes"] for stage in row["stages"]) / row["memory_bytes"], 1, places=9)
        more = self.answered(*words, "--notes").splitlines()
        self.assertGreater(len(more), len(text.splitlines()) + 6)
        for stage in row["stages"]:
            kinds = [value for key, value in stage.items() if key.endswith("_bytes") and key != "total_bytes"]
            self.assertAlmostEqual(sum(kinds) / stage["total_bytes"], 1, places=9)

    def test_memory_says_what_few_bits_keep(self):
        fp8 = [word if word != "bf16" else "fp8" for word in LLAMA]
        asked = lambda base, framework: [*base, "--ranks", 64, "--framework", framework, "--parallel", PLAN, "--memory"]
        weights = lambda base: max(stage["weights_bytes"] for stage in self.plans(*asked(base, "megatron"))[0]["stages"])
        text = " ".join(self.answered(*asked(fp8, "megatron"), "--notes").split())
        self.assertIn(f"param-gather: {(weights(fp8) - weights(LLAMA)) / 1e9:.3g} GB of the fullest stage.", text)
        self.assertIn("weights 2 (in layers 2 more, in few bits)", text)
        self.assertIn("together 18 (20 in layers).", text)
        self.assertNotIn("param-gather", self.answered(*asked(LLAMA, "megatron"), "--notes"))
        titan = " ".join(self.answered(*asked(fp8, "torchtitan")).split())
        self.assertIn("Inputs of products are counted in 16 bits, as torchao keeps them", titan)
        self.assertNotIn("param-gather", titan)

    def test_an_order_that_is_not_timed_is_no_remedy(self):
        words = ["predict", "--network", "llama3_70b", "--cluster", "dgx_h100", "--ranks", 8, "--global-batch", 64,
                 "--parallel", "context=2,micro_batch=1,order=context/tensor/branches/data/stages"]
        self.assertIn("Does not fit", self.answered(*words, "--fits", code=2))
        self.answered(*words, "--memory")
        self.answered(*words, "--explain")
        self.assertIn("by context, tensor, branches, data, stages", " ".join(self.answered(*words, "--notes").split()))

    def test_fsdp_is_a_framework_of_plans(self):
        words = [*LLAMA, "--ranks", 64, "--framework", "fsdp", "--parallel", "zero=3,micro_batch=1,recompute=full"]
        self.assertEqual(self.plans(*words)[0]["family"], "fsdp")

    def test_frameworks_are_free_text(self):
        base = [*LLAMA, "--ranks", 64, "--parallel", PLAN]
        text = " ".join(self.answered(*base, "--framework", "my own").split())
        self.assertIn("No family names the framework my own", text)
        self.assertIn("Taken, since not said: --framework megatron.", " ".join(self.answered(*base).split()))
        self.assertEqual(self.plans(*base, "--framework", "NeMo 2.0")[0]["family"], "engine")

    def test_overlap_of_tensor_messages_is_a_key_of_the_plan(self):
        base = [*LLAMA, "--ranks", 64, "--parallel"]
        step = lambda plan, framework: self.plans(*base, plan, "--framework", framework)[0]["t_iter_s"]
        for framework in ["megatron-lm", "megatron-core", "mcore"]:
            self.assertEqual(step(PLAN, framework), step(PLAN, "megatron"))
        self.assertLess(step(f"{PLAN},tensor_overlap=true", "megatron"), step(PLAN, "megatron"))
        self.assertLess(step(PLAN, "nemo"), step(PLAN, "megatron"))
        self.assertIn("tensor_overlap=false leaves that out", " ".join(self.answered(*base, PLAN, "--framework", "nemo").split()))
        for plan, framework in [(PLAN, "megatron"), (f"{PLAN},tensor_overlap=true", "nemo"), ("tensor=8,stages=4", "nemo")]:
            self.assertNotIn("tensor_overlap=false", " ".join(self.answered(*base, plan, "--framework", framework).split()))
        self.assertIn("tensor_overlap=true", self.answered(*base, PLAN, "--explain"))
        mixtral = [word if word != "llama3_70b" else "mixtral_8x7b" for word in [*base[:-1], "--framework", "nemo", "--parallel"]]
        hides = "--overlap-moe-expert-parallel-comm"
        self.assertIn(hides, self.answered(*mixtral, "experts=8,micro_batch=1"))
        for keys in ["stages=4", "recompute=full"]:
            self.assertNotIn(hides, self.answered(*mixtral, f"experts=8,micro_batch=1,{keys}"))
        self.assert_refused(run(*base, f"{PLAN},tensor_overlap=true", "--framework", "transformers"), 2, "sends no messages under products")

    def test_compiled_steps_are_a_key_of_the_plan(self):
        base = [*LLAMA, "--ranks", 64, "--parallel"]
        plan = "tensor=8,sequence_parallel=true,micro_batch=1,zero=3,recompute=full"
        step = lambda keys, framework: self.plans(*base, f"{plan}{keys}", "--framework", framework)[0]["t_iter_s"]
        self.assertEqual(step("", "torchtitan"), step(",compile=false", "torchtitan"))
        self.assertLess(step(",compile=true", "torchtitan"), step("", "torchtitan"))
        self.assertLess(step(",compile=true,tensor_overlap=true", "torchtitan"), step(",compile=true", "torchtitan"))
        unsaid = "compiled unless a plan says compile=true"
        self.assertIn(unsaid, " ".join(self.answered(*base, plan, "--framework", "torchtitan").split()))
        self.assertNotIn(unsaid, " ".join(self.answered(*base, f"{plan},compile=true", "--framework", "torchtitan").split()))
        for keys, framework, part in [(",compile=true", "megatron", "knows no compiled steps of megatron"),
                                      (",compile=false", "maxtext", "compiles all its steps"),
                                      (",tensor_overlap=true", "torchtitan", "Write compile=true")]:
            self.assert_refused(run(*base, f"{plan}{keys}", "--framework", framework), 2, part)
        self.assert_refused(run(*RESNET, "--parallel", "stages=4,compile=true"), 2, "compile")

    def test_few_bits_are_for_plans_alone(self):
        fp8 = [word if word != "bf16" else "fp8" for word in LLAMA]
        fast = self.plans(*fp8, "--ranks", 64, "--framework", "nemo", "--parallel", PLAN)[0]
        slow = self.plans(*LLAMA, "--ranks", 64, "--framework", "nemo", "--parallel", PLAN)[0]
        self.assertLess(fast["t_iter_s"], slow["t_iter_s"])
        self.assertEqual(fast["dtype"], "fp8")
        self.assert_refused(run("predict", "--network", "resnet50", "--cluster", "dgx_h100", "--ranks", 8, "--dtype", "fp8"), 2, "--dtype fp8")
        fp3 = [word if word != "bf16" else "fp3" for word in LLAMA]
        self.assert_refused(run(*fp3, "--parallel", PLAN), 2, '"fp3" is not a precision', "also take fp8 and fp4")
        a100 = ["predict", "--network", "llama2_7b", "--cluster", "dgx_a100", "--global-batch", 64, "--parallel", "data=8,micro_batch=1"]
        self.assert_refused(run(*a100, "--dtype", "fp8"), 2, "no peak in 8 bits")
        self.assertEqual(self.plans(*a100)[0]["dtype"], "bf16")

    def test_options_of_other_questions_are_refused(self):
        base = [*LLAMA, "--ranks", 64, "--parallel", PLAN]
        for others in [["--schedule", "wait_free"], ["--bucket", "1MiB"], ["--servers", 2], ["--layers"], ["--limits"], ["--set", "host.decode=1ms"],
                       ["--straggler-spread", "5%"], ["--machine", "m.yaml"], ["--all-reduce", "ring"]]:
            self.assert_refused(run(*base, *others), 2, others[0])
        self.assert_refused(run(*LLAMA[:5], "--ranks", 64, "--batch", 4, "--parallel", PLAN), 2, "--batch")
        self.assertEqual(self.plans(*LLAMA[:5], "--ranks", "32,64", "--parallel", PLAN)[0]["global_batch"], 64)
        self.assert_refused(run(*LLAMA, "--parallel", PLAN), 2, "--ranks")
        for option in ["--fits", "--memory"]:
            self.assert_refused(run(*base, "--measured", "64=33 s", option), 2, option, "--measured", "exclude each other")
        self.assert_refused(run(*LLAMA, "--ranks", "32,64", "--parallel", "data=2," + PLAN), 2, "--ranks")
        self.assert_refused(run("predict", "--network", "gpt2", "--cluster", "dgx_h100", "--ranks", 8, "--fits"), 2, "--parallel")

    def test_other_networks_are_cut_by_their_layers(self):
        words = [*RESNET, "--ranks", "8,16", "--parallel", "stages=4,schedule=gpipe,micro_batches=4", "--parallel", "stages=2,micro_batches=4"]
        rows = self.plans(*words)
        self.assertEqual([row["plan"] for row in rows], [
            "data=2,stages=4,schedule=gpipe,micro_batches=4", "data=4,stages=4,schedule=gpipe,micro_batches=4",
            "data=4,stages=2,micro_batches=4", "data=8,stages=2,micro_batches=4"])
        for row in rows:
            parts = ["t_compute_s", "t_unequal_s", "t_bubble_s", "t_stage_messages_s", "t_strips_s", "t_gradients_s", "t_input_s"]
            self.assertAlmostEqual(sum(row[part] for part in parts) / row["t_iter_s"], 1, places=9)
            self.assertTrue(row["t_iter_low_s"] < row["t_iter_s"] < row["t_iter_high_s"], row)
            self.assertTrue(row["speedup_low"] < row["speedup"] < row["speedup_high"] <= row["ranks"], row)
            self.assertAlmostEqual(row["samples_per_s"] * row["t_iter_s"] / 64, 1, places=9)
        self.assertEqual([row["micro_batch"] for row in rows], [8, 4, 4, 2])
        text = self.answered(*words)
        self.assertLessEqual(max(map(len, text.splitlines())), 100, text)
        for word in ["images/s", "speed-up", "fits", "bound by", "(90 %", "more nodes than the 1", "A: stages=4", "B: stages=2", "Next: "]:
            self.assertIn(word, " ".join(text.split()))
        csv_rows = list(csv.DictReader(io.StringIO(self.answered(*words, "--format", "csv"))))
        self.assertEqual([row["fits"] for row in csv_rows], ["yes"] * 4)
        left_out = " ".join(self.answered(*RESNET, "--ranks", "6,8", "--parallel", "stages=4,micro_batches=4").split())
        self.assertIn("left out: ", left_out)

    def test_stages_have_a_verdict_and_memory(self):
        words = [*RESNET, "--ranks", 8, "--parallel", "stages=4,micro_batches=8"]
        fits = self.answered(*words, "--fits")
        self.assertEqual(fits.count("Fits surely"), 1)
        self.assertNotIn("images/s", fits)
        text = self.answered(*words, "--memory")
        for word in ["states", "activations", "libraries", "[A", "Fits surely", "Least known"]:
            self.assertIn(word, text)
        plan = self.plans(*words, "--memory")[0]
        self.assertEqual([stage["stage"] for stage in plan["stages"]], [0, 1, 2, 3])
        self.assertAlmostEqual(max(stage["memory_bytes"] for stage in plan["stages"]) / plan["memory_bytes"], 1, places=12)
        for stage in plan["stages"]:
            kinds = [stage[kind] for kind in ["states_bytes", "activations_bytes", "gradients_bytes", "batch_bytes",
                                           "libraries_bytes"]]
            self.assertAlmostEqual(sum(kinds) / stage["memory_bytes"], 1, places=12)
        too_large = ["predict", "--network", "resnet50", "--cluster", "p40x16", "--ranks", 8, "--global-batch", 65536, "--parallel"]
        for option in [["--fits"], ["--fits", "--memory"]]:
            text = self.answered(*too_large, "stages=8,micro_batches=8", *option, code=2)
            self.assertRegex(text, "Does not fit: the fullest GPU, of stage [1-8] of 8")
        self.answered(*too_large, "stages=8,micro_batches=8", "--parallel", "stages=8,micro_batches=4096", "--fits", code=2)

    def test_stages_are_explained_and_traced(self):
        words = [*RESNET, "--ranks", 8, "--parallel", "stages=4,micro_batches=8"]
        text = self.answered(*words, "--explain")
        for word in ["waiting for input", "of kernels and input", "of pipelines", "in flight"]:
            self.assertIn(word, " ".join(text.split()))
        plan = self.plans(*words, "--explain")[0]
        self.assertEqual(len(plan["stages"]), 4)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            self.answered(*words, "--trace", path)
            events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        names = {event["args"]["name"] for event in events if event.get("name") == "thread_name"}
        self.assertEqual(names, {f"stage {stage}" for stage in range(1, 5)})
        ends = [event["ts"] + event["dur"] for event in events if event.get("ph") == "X"]
        self.assertAlmostEqual(max(ends) / 1e6 / (plan["t_iter_s"] - plan["t_input_s"]), 1, places=4)

    def test_a_stage_may_be_a_core(self):
        words = ["predict", "--network", "resnet110_v2", "--cluster", "frontera", "--global-batch", 64, "--parallel", "stages=8,data=1,micro_batches=8"]
        sockets = self.plans(*words)[0]
        cores = self.plans(*words, "--cores-per-rank", 1)[0]
        self.assertAlmostEqual(cores["t_compute_s"] / sockets["t_compute_s"], 28, delta=2)
        self.assertIn("one of the 2 processors of a node", " ".join(self.answered(*words).split()))
        text = " ".join(self.answered(*words, "--cores-per-rank", 1).split())
        self.assertIn("on 8 cores of frontera", text)
        self.assertIn("56 ranks a node", text)
        self.assert_refused(run(*words, "--cores-per-rank", 57), 2, "has 56 cores")
        self.assert_refused(run(*RESNET, "--ranks", 8, "--parallel", "stages=4,micro_batches=4", "--cores-per-rank", 1), 2, "--cores-per-rank")
        self.assert_refused(run(*LLAMA, "--ranks", 64, "--parallel", PLAN, "--cores-per-rank", 1), 2, "--cores-per-rank")

    def test_images_may_be_cut_into_strips(self):
        words = ["predict", "--network", "resnet50", "--cluster", "v100x16_ib100", "--global-batch", 16]
        one, two = self.plans(*words, "--parallel", "data=1", "--parallel", "data=1,context=2")
        self.assertEqual(one["t_strips_s"], 0)
        self.assertGreater(two["t_strips_s"], 0)
        self.assertLess(two["t_compute_s"], one["t_compute_s"])
        self.assertLess(two["memory_bytes"], one["memory_bytes"])
        text = self.answered(*words, "--parallel", "data=1,context=2")
        self.assertIn("+ strips", text)
        self.assert_refused(run(*words, "--parallel", "data=1,context=16"), 2, "Take a context of at most 7.")

    def test_stages_refuse_what_they_do_not_answer(self):
        words = [*RESNET, "--ranks", 8, "--parallel", "stages=4,micro_batches=4"]
        self.assert_refused(run(*words, "--tokens", "1T"), 2, "--tokens")
        self.assert_refused(run(*words, "--cost-per-gpu-hour", 2), 2, "--cost-per-gpu-hour")
        self.assert_refused(run(*words, "--trace", "-"), 2, "Name a file")
        self.assert_refused(run("predict", "--network", "resnet50", "--cluster", "dgx_h100", "--ranks", 8, "--parallel", "stages=4"), 2, "--global-batch")

    def test_out_of_core_says_where_nothing_fits(self):
        words = ["predict", "--network", "vgg16", "--cluster", "dgx_h100", "--out-of-core", "--batch"]
        text = " ".join(self.answered(*words, 4096).split())
        self.assertNotIn("left out", text)
        most = int(re.search(r"The greatest batch is (\d+)\.", text).group(1))
        self.assertNotIn("No policy fits", self.answered(*words, most))
        self.assertIn("No policy fits", self.answered(*words, most + 1))

    def test_sequences_may_be_long(self):
        words = ["predict", "--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks", 16, "--sequence", 131072,
                 "--parallel", "tensor=8,sequence_parallel=true,context=2,micro_batch=1,zero=1"]
        self.assertEqual(self.plans(*words)[0]["sequence_tokens"], 131072)
        self.assertEqual(self.plans("predict", "--network", "gpt2", "--cluster", "dgx_h100", "--ranks", 8, "--sequence", 512,
                                    "--parallel", "micro_batch=1")[0]["sequence_tokens"], 512)

    def test_branches_stand_beside_data_parallelism(self):
        words = ["predict", "--network", "t5_large", "--sequence", 64, "--cluster", "lassen", "--global-batch", 1024, "--ranks", "64,1024"]
        rows = self.plans(*words, "--parallel", "branches=8", "--parallel", "branches=2")
        self.assertEqual([row["plan"] for row in rows], ["data=64", "data=8,branches=8", "data=32,branches=2",
                                                         "data=1024", "data=128,branches=8", "data=512,branches=2"])
        for row in rows:
            parts = [row[part] for part in ["t_serial_s", "t_branches_s", "t_branch_messages_s", "t_gradients_s", "t_update_s"]]
            self.assertAlmostEqual(sum(parts) / row["t_iter_s"], 1, places=9)
            self.assertTrue(all(part >= 0 for part in parts), row)
            self.assertAlmostEqual(row["samples_per_s"] * row["t_iter_s"] / 1024, 1, places=9)
            alone = next(one for one in rows if one["ranks"] == row["ranks"])
            self.assertAlmostEqual(row["gain"] * row["t_iter_s"] / alone["t_iter_s"], 1, places=9)
        self.assertEqual(rows[3]["t_branch_messages_s"], 0)
        self.assertLess(rows[4]["memory_bytes"], rows[3]["memory_bytes"])
        images = self.answered("predict", "--network", "inception_v4", "--cluster", "lassen", "--parallel", "data=4,branches=2")
        self.assertIn("images/s", images)
        self.assertIn("No fitted training is like it", " ".join(images.split()))

    def test_branches_have_a_verdict(self):
        words = ["predict", "--network", "t5_large", "--sequence", 512, "--cluster", "lassen", "--ranks", 16, "--parallel", "branches=8", "--global-batch"]
        text = self.answered(*words, 16, "--fits")
        self.assertIn("by data=2,branches=8: Fits surely: the fullest GPU needs", " ".join(text.split()))
        self.assertEqual([row["fits"] for row in self.plans(*words, 16, "--fits")][1], "yes")
        self.assertIn("Does not fit", self.answered(*words, 8192, "--fits", code=2))
        both = run(*words, 16, "--parallel", "branches=3", "--fits")  # which cannot run
        self.assertEqual(both.returncode, 2, both.stdout)

    def test_branches_of_a_decoder_are_in_the_precision_and_memory_of_all_plans(self):
        words = ["predict", "--network", "llama3_8b", "--cluster", "dgx_h100", "--ranks", 16, "--global-batch", 64, "--parallel"]
        rows = self.plans(*words, "branches=2")
        [plain] = self.plans(*words, "data=16,micro_batch=1")
        self.assertEqual([row["dtype"] for row in rows], ["bf16", "bf16"])
        self.assertEqual({row["device_memory_bytes"] for row in [*rows, plain]}, {plain["device_memory_bytes"]})
        self.assertIn("Taken, since not said: --dtype bf16.", " ".join(self.answered(*words, "branches=2").split()))
        self.assertEqual(self.plans(*words, "branches=2", "--dtype", "f32")[0]["dtype"], "f32")
        for row in rows:
            self.assertTrue(0 < row["memory_low_bytes"] < row["memory_bytes"] < row["memory_high_bytes"])

    def test_a_verdict_on_stages_has_a_range(self):
        words = [*RESNET, "--ranks", 8, "--parallel", "stages=4,micro_batches=8"]
        [row] = self.plans(*words)
        self.assertEqual(row["device_memory_bytes"], self.plans(*SMALL, "--ranks", 8, "--parallel", "micro_batch=1")[0]["device_memory_bytes"])
        self.assertTrue(0 < row["memory_low_bytes"] < row["memory_bytes"] < row["memory_high_bytes"])
        self.assertEqual(row["fits"], "yes")
        self.assertIn("Fits surely: the fullest GPU, of stage 1 of 4, needs", " ".join(self.answered(*words, "--fits").split()))
        unsure = [*RESNET[:5], "--global-batch", 7000, "--ranks", 8, "--parallel", "stages=2,micro_batches=1"]
        self.assertEqual(self.plans(*unsure)[0]["fits"], "unsure")
        both = run(*words, "--parallel", "stages=3", "--fits")  # which cannot run
        self.assertEqual(both.returncode, 2, both.stdout)
        stages = json.loads(self.answered(*words, "--memory", "--format", "json"))["plans"][0]
        self.assertAlmostEqual(max(one["memory_bytes"] for one in stages["stages"]), stages["memory_bytes"])

    def test_peaks_in_four_bits_are_of_the_sheet_or_named(self):
        words = ["predict", "--network", "llama3_8b", "--cluster", "dgx_b200", "--ranks", 8, "--dtype", "fp4", "--parallel", "data=8,micro_batch=1", "--notes"]
        self.assertNotIn("no peak in 4 bits", self.answered(*words))
        sheet = self.folder / "card.yaml"
        stated = (SOURCE / "configs" / "devices" / "b200_sxm.yaml").read_text()
        sheet.write_text(stated.replace(", f4: 9000 TFLOP/s", "").replace("device: b200_sxm", "device: card"))
        text = " ".join(self.answered(*words, "--device", sheet).split())
        self.assertIn("The device file card has no peak in 4 bits (f4): 2 times that in 8 bits is taken", text)
        ultra = " ".join(self.answered(*words, "--device", "gb300").split())
        self.assertNotIn("no peak in 4 bits", ultra)
        self.assertIn("multiprocessors, cores, boost_clock (As GB200, assumed", ultra)

    def test_branches_go_with_data_alone(self):
        words = ["predict", "--network", "t5_large", "--cluster", "lassen", "--ranks", 64, "--parallel"]
        for plan in ["branches=8,zero=1", "tensor=2,branches=2", "branches=2,stages=2", "context=2,branches=2", "branches=2,experts=2"]:
            self.assert_refused(run(*words, plan), 2, "states more than data and branches")
        self.assert_refused(run(*words, "branches=2", "--parallel", "tensor=2"), 2, "states more than data and branches")
        self.assert_refused(run(*words, "branches=3"), 2, "do not divide 64")
        self.assert_refused(run(*words, "data=4,branches=2"), 2, "64")
        self.assert_refused(run(*words, "branches=32"), 2, "Write a divisor of 16.")
        for option in [["--framework", "megatron"], ["--explain"], ["--memory"], ["--notes"], ["--tokens", "3T"], ["--device", "h200_sxm"]]:
            self.assert_refused(run(*words, "branches=2", *option), 2, option[0])
        self.assert_refused(run(*words, "branches=2", "--dtype", "fp8"), 2, "--dtype fp8")
        self.assert_refused(run("predict", "--network", "vgg16", *words[3:], "branches=2"), 2, "vgg16")
        self.assert_refused(run("predict", "--network", "t5_large", "--cluster", "stampede2_skx", "--ranks", 16, "--parallel", "branches=2"), 2, "stampede2_skx")
        text = " ".join(self.answered("predict", "--network", "t5_large", "--cluster", "lassen", "--ranks", "60,64", "--parallel", "branches=8").split())
        self.assertIn("left out: branches=8 on 60 ranks", text)

    def test_faults_of_plans_are_told(self):
        for plan, told in [("tensor=0", "tensor is 0"), ("tensor=100000,stages=100000", "1e+10 ranks"), ("tensor=3", "tensor"), ("tensor=8,colour=2", "colour"), ("tensor=8,stages=64,micro_batch=1", "stages")]:
            self.assert_refused(run(*LLAMA, "--ranks", {"tensor=3": 24}.get(plan, 512), "--parallel", plan), 2, told)
        for plan, told in [("tensor=8", "the plan has tensor"), ("stages=3", "do not divide 8"), ("stages=2,micro_batches=5", "micro_batches is 5")]:
            self.assert_refused(run(*RESNET, "--ranks", 8, "--parallel", plan), 2, told)
        self.assert_refused(run("predict", "--network", "gpt2", "--cluster", "stampede2_skx", "--ranks", 8, "--global-batch", 64,
                                "--parallel", "data=8"), 2, "stampede2_skx")
        for point, told in [("8=fast", "--measured"), ("8=nan s", '"8=nan s" has no time above zero'), ("8=inf s", "no time"), ("8=-3 s", "no time")]:
            self.assert_refused(run(*SMALL, "--ranks", 8, "--parallel", "data=8,micro_batch=1", "--measured", point), 2, told)


if __name__ == "__main__":
    main()
