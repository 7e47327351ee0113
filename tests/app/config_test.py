"""dlscale config show: the settings in effect and where they come from."""

import json

from program import ProgramTest, main, run

NONE_SET = dict.fromkeys(["DLSCALE_HISTORY", "DLSCALE_RENDEZVOUS", "DLSCALE_CLUSTER", "DLSCALE_SHARED_DATA", "NO_COLOR"])


def show(*words, variables=None):
    result = run("config", "show", "--format", "json", *words, variables=NONE_SET | (variables or {}))
    if result.returncode:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


def setting(settings, name):
    [found] = [one for one in settings if one["name"] == name]
    return found["value"], found["from"], found["detail"]


class ConfigShow(ProgramTest):
    def test_options_say_where_their_values_come_from(self):
        answer = show("predict", "--network", "alexnet", "--cluster=p40x16", "--ranks", "1,2,4", "--layers")
        self.assertEqual((answer["schema"], answer["command"]), ("dlscale.settings", "predict"))
        options = answer["options"]
        value, origin, detail = setting(options, "--network")
        self.assertEqual((value, origin), ("alexnet", "command line"))
        self.assertTrue(detail.endswith("configs/networks/alexnet.yaml"), detail)
        self.assertEqual(setting(options, "--ranks")[:2], ("1,2,4", "command line"))
        self.assertEqual(setting(options, "--layers")[:2], ("yes", "command line"))
        self.assertEqual(setting(options, "--explain")[:2], ("no", "default"))
        self.assertEqual(setting(options, "--dtype")[:2], ("f32", "default"))
        value, origin, detail = setting(options, "--all-reduce")
        self.assertEqual((value, origin), ("ring", "file"))
        self.assertTrue(detail.endswith("configs/clusters/p40x16.yaml"), detail)
        self.assertEqual(setting(options, "--loader-threads")[1], "not set")
        self.assertIn("even share", setting(options, "--loader-threads")[2])

    def test_what_follows_from_other_options_is_shown_as_it_runs(self):
        options = show("bench", "comm", "--memory", "device")["options"]
        self.assertEqual(setting(options, "--backend"), ("cuda", "default", "by what else is set"))
        self.assertEqual(setting(options, "--memory")[:2], ("device", "command line"))
        options = show("bench", "comm", "--memory", "device", "--backend", "onednn")["options"]
        self.assertEqual(setting(options, "--backend")[:2], ("onednn", "command line"))  # the verb refuses it

    def test_what_is_required_may_be_missing_and_nothing_runs(self):
        options = show("data", "make")["options"]
        self.assertEqual(setting(options, "--out"), ("", "not set", "required"))
        out = self.folder / "never"
        show("data", "make", "--out", out)
        self.assertFalse(out.exists())

    def test_variables_come_after_the_command_line(self):
        store = {"DLSCALE_HISTORY": "perf"}
        self.assertEqual(setting(show("history", "list", variables=store)["options"], "--store"),
                         ("perf", "environment", "DLSCALE_HISTORY"))
        self.assertEqual(setting(show("history", "list", "--store", "mine", variables=store)["options"], "--store")[:2],
                         ("mine", "command line"))
        self.assertEqual(setting(show("history", "list")["options"], "--store")[:2], ("history", "default"))
        program = show(variables=store | {"DLSCALE_PLAN_CACHE": "off"})["program"]
        self.assertEqual(setting(program, "history"), ("perf", "environment", "DLSCALE_HISTORY"))
        self.assertEqual(setting(program, "choices by trial on GPUs"), ("off", "environment", "DLSCALE_PLAN_CACHE"))

    def test_a_variable_that_nothing_reads_is_told_of(self):
        # Among others, where whoever runs the tests has variables for them.
        [problem] = [one for one in show(variables={"DLSCALE_CONFIG": "x"})["problems"] if one.startswith("DLSCALE_CONFIG ")]
        self.assertIn('Did you mean "DLSCALE_CONFIGS"?', problem)
        [problem] = [one for one in show(variables={"DLSCALE_CONFIGS": "/no/such"})["problems"] if "/no/such" in one]
        self.assertIn("is not a folder", problem)

    def test_what_the_verb_would_refuse_is_refused(self):
        for words, said in [(["predcit"], "predict"), (["predict", "--no-such"], "--no-such"), (["choose", "--batch", "-1"], "-1"),
                            (["choose", "--batch", "1", "--batch", "2"], "required but received 2"), (["predict", "--help"], "--help")]:
            self.assert_refused(run("config", "show", *words), 2, said)
        self.assert_refused(run("config"), 2, "kind of config")

    def test_commands_of_verbs_and_other_formats(self):
        self.assertEqual(show("bench", "conv", "--batch", 4)["command"], "bench conv")
        self.assertEqual(show("gate", "--margin", "0.02", "--", "bench", "gemm")["command"], "gate")
        for name in ["table", "csv", "markdown"]:
            result = run("config", "show", "--format", name, "choose", "--batch", 4)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("--batch", result.stdout)


if __name__ == "__main__":
    main()
