#include "model/published/cases/case_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/published/cases/prediction.hpp"
#include "tests/core/case_lines.hpp"
#include "tests/core/support.hpp"

namespace dlscale::cases {
namespace {

using test::config_error;
using test::curve_line;
using test::expect_contains;
using test::replaced;
using test::TemporaryFolder;
using test::training_line;

// What a predictor is given has nothing that tells the answer, and cannot be made of what has.
template <class T>
concept TellsMeasured = requires(T t) {
  t.measured;
};
template <class T>
concept TellsNoise = requires(T t) {
  t.noise;
};
template <class T>
concept TellsQuality = requires(T t) {
  t.quality;
};
template <class T>
concept TellsFields = requires(T t) {
  t.fields;
};
template <class T>
constexpr bool tells_answer =
    TellsMeasured<T> || TellsNoise<T> || TellsQuality<T> || TellsFields<T>;
static_assert(tells_answer<Outcome> && tells_answer<Measured>);
static_assert(!tells_answer<ScalingCase> && !tells_answer<CurveCase>);
static_assert(!std::is_convertible_v<ScalingCase, Outcome> &&
              !std::is_convertible_v<CurveCase, Outcome>);
static_assert(!std::is_base_of_v<Outcome, ScalingCase> && !std::is_base_of_v<Outcome, CurveCase>);
static_assert(std::is_invocable_v<TrainingPredictor*, std::span<const ScalingCase>> &&
              !std::is_invocable_v<TrainingPredictor*, CaseFile> &&
              !std::is_invocable_v<TrainingPredictor*, std::span<const Outcome>>);

CaseFile read_text(std::string_view text) {
  const TemporaryFolder folder;
  return read_cases(folder.write("cases.jsonl", text));
}

std::string refusal_of(std::string_view text) {
  return config_error([&] { (void)read_text(text); });
}

/// How a line is refused with its first `from` replaced, as the second line of a file.
std::string refusal_with(std::string_view line, std::string_view from, std::string_view to) {
  const std::string other = replaced(line, "/a-", "/first-");
  std::string message = refusal_of(other + "\n" + replaced(line, from, to) + "\n");
  expect_contains(message, "cases.jsonl:2: ");
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

TEST(CaseFile, ReadsATraining) {
  const CaseFile file = read_text(training_line);
  ASSERT_EQ(file.trainings.size(), 1U);
  EXPECT_FALSE(file.holds_curves());
  const ScalingCase& read = file.trainings.front();
  EXPECT_EQ(read.id, "made/a-8gpu");
  EXPECT_EQ(read.set, "made");
  EXPECT_EQ(read.network.parameters, 25000000);
  EXPECT_EQ(read.network.layers, 2);
  EXPECT_EQ(read.network.seq, 128);
  EXPECT_FALSE(read.network.hidden);
  EXPECT_EQ(read.gradient_element, Bytes(4));
  EXPECT_EQ(read.batch_per_gpu, 32);
  EXPECT_EQ(read.global_batch, 256);
  EXPECT_EQ(read.gpus, 8);
  EXPECT_EQ(read.nodes, 2);
  EXPECT_EQ(read.cluster.intra_node.bandwidth, BytesPerSecond(1e10));
  ASSERT_TRUE(read.cluster.inter_node);
  EXPECT_EQ(read.cluster.inter_node->kind, "ethernet-tcp");
  EXPECT_EQ(read.cluster.inter_node->nics, 1);
  EXPECT_EQ(read.run.synchronisation, Synchronisation::all_reduce);
  EXPECT_EQ(read.run.overlap, Overlap::wfbp);
  EXPECT_EQ(read.run.input, Input::synthetic);
  EXPECT_EQ(read.run.parallel.dp, 8);
  EXPECT_EQ(read.run.parallel.cp, 1);
  ASSERT_EQ(read.given.size(), 1U);
  EXPECT_DOUBLE_EQ(read.given.front().iteration().si(), 0.1);
  EXPECT_EQ(read.assumed, std::vector<std::string>{"run.overlap"});
  const Outcome& outcome = file.outcomes.at(0);
  ASSERT_TRUE(outcome.measured);
  EXPECT_EQ(outcome.measured->unit, CaseUnit::samples_per_s);
  EXPECT_EQ(outcome.measured->values, std::vector<double>{1000.5});
  EXPECT_EQ(outcome.measured->deviation, 2.5);
  EXPECT_EQ(outcome.measured->noise, std::vector<double>{0.01});
  EXPECT_EQ(outcome.quality, "A");
  EXPECT_EQ(outcome.weight, 0.5);
}

TEST(CaseFile, ReadsWhetherAPointIsOfComputingAlone) {
  EXPECT_FALSE(read_text(training_line).trainings.front().given.front().computes_only);
  for (const bool stated : {true, false}) {
    const std::string line = replaced(
        training_line, R"("global_batch":32})",
        std::string(R"("global_batch":32,"computes_only":)") + (stated ? "true}" : "false}"));
    EXPECT_EQ(read_text(line).trainings.front().given.front().computes_only, stated);
  }
  expect_contains(refusal_with(training_line, R"("global_batch":32})",
                               R"("global_batch":32,"computes_only":"yes"})"),
                  "given[0].computes_only is \"yes\"");
}

TEST(CaseFile, ReadsACurve) {
  const CaseFile file = read_text(curve_line);
  ASSERT_EQ(file.curves.size(), 1U);
  EXPECT_TRUE(file.holds_curves());
  const CurveCase& read = file.curves.front();
  EXPECT_EQ(read.task, CurveTask::interpolate);
  EXPECT_EQ(read.buffer, BufferMemory::device);
  EXPECT_EQ(read.scale(), 4);
  EXPECT_EQ(read.cluster.gpus_per_node, 2);
  EXPECT_FALSE(read.cluster.intra_node);
  EXPECT_TRUE(read.cluster.inter_node);
  ASSERT_EQ(read.given.size(), 1U);
  EXPECT_EQ(read.given.front().bytes.size(), 3U);
  EXPECT_EQ(read.given.front().times.back(), Seconds(0.01001));
  EXPECT_EQ(read.query, (std::vector<Bytes>{Bytes(10000), Bytes(1000000)}));
  ASSERT_TRUE(file.outcomes.at(0).measured);
  EXPECT_EQ(file.outcomes.at(0).measured->unit, CaseUnit::time_s);
  EXPECT_EQ(file.outcomes.at(0).measured->values, (std::vector<double>{0.00002, 0.00101}));
  EXPECT_EQ(file.outcomes.at(0).measured->noise, (std::vector<double>{0.01, 0.02}));
}

TEST(CaseFile, ReadsWhatTheModelMayNotCover) {
  std::string line = replaced(training_line, R"("dp":8,"tp":1,"pp":1)",
                              R"("dp":1,"tp":2,"pp":2,"cp":2,"ep":4,"micro_batch":0.5,)"
                              R"("virtual_pipeline":2,"schedule":"1f1b","sequence_parallel":true,)"
                              R"("recompute":"full","zero_stage":3,"compile":false)");
  line = replaced(line, R"("synchronisation":"all_reduce")", R"("synchronisation":"fsdp")");
  line = replaced(line, R"("layers":2)",
                  R"("layers":2,"hidden":64,"heads":8,"vocab":100,"ffn":256,"kv_heads":4,)"
                  R"("head_dim":16,"gated_mlp":true,"active_parameters":1000000,)"
                  R"("moe":{"experts":8,"experts_per_token":2,"expert_ffn":128},)"
                  R"("mla":{"kv_lora_rank":32,"qk_nope":8,"qk_rope":4,"v":8})");
  line = replaced(line, R"("measured":{"samples_per_s":1000.5,"samples_per_s_std":2.5})",
                  R"("measured":{"iteration_s":1.25})");
  line = replaced(line, R"("overlap":"wfbp")", R"("overlap":"by a coprocessor of its own")");
  const CaseFile file = read_text(line);
  const ScalingCase& read = file.trainings.at(0);
  EXPECT_EQ(read.run.parallel.tp, 2);
  EXPECT_EQ(read.run.parallel.ep, 4);
  EXPECT_EQ(read.run.parallel.micro_batch, 0.5);
  EXPECT_EQ(read.run.parallel.zero_stage, 3);
  EXPECT_EQ(read.run.parallel.schedule, "1f1b");
  EXPECT_EQ(read.run.synchronisation, Synchronisation::fsdp);
  EXPECT_EQ(read.run.overlap, Overlap::other);
  EXPECT_EQ(read.network.head_dim, 16);
  ASSERT_TRUE(read.network.moe && read.network.mla);
  EXPECT_EQ(read.network.moe->experts_per_token, 2);
  EXPECT_EQ(read.network.mla->q_lora_rank, 0);
  EXPECT_EQ(file.outcomes.at(0).measured->unit, CaseUnit::iteration_s);
}

TEST(CaseFile, WhatWasMeasuredChangesNothingThatAPredictorSees) {
  const CaseFile plain = read_text(training_line);
  std::string other = replaced(training_line, "1000.5", "3.25");
  other = replaced(other, R"("noise":0.01,"quality":"A")", R"("noise":null,"quality":"C")");
  EXPECT_EQ(read_text(other).trainings, plain.trainings);
  EXPECT_NE(read_text(other).outcomes.at(0).measured->values,
            plain.outcomes.at(0).measured->values);
  const std::string curve = replaced(curve_line, "0.00101", "0.5");
  EXPECT_EQ(read_text(curve).curves, read_text(curve_line).curves);
}

TEST(CaseFile, ACaseNeedNotBeMeasured) {
  const std::string line = replaced(
      training_line,
      R"("measured":{"samples_per_s":1000.5,"samples_per_s_std":2.5},"noise":0.01,"quality":"A",)",
      "");
  const CaseFile file = read_text(line);
  EXPECT_EQ(file.trainings, read_text(training_line).trainings);
  EXPECT_FALSE(file.outcomes.at(0).measured);
  EXPECT_EQ(file.outcomes.at(0).quality, "");
}

TEST(CaseFile, NamesPlainValuesAsPythonWritesThem) {
  const auto fields = read_text(training_line).outcomes.at(0).fields;
  EXPECT_EQ(fields.at("run.overlap"), "wfbp");
  EXPECT_EQ(fields.at("nodes"), "2");
  EXPECT_EQ(fields.at("cluster.intra_node.nominal_bandwidth_bytes_per_s"), "10000000000.0");
  EXPECT_EQ(fields.at("measured.samples_per_s"), "1000.5");
  EXPECT_FALSE(fields.contains("given"));
  const auto curve = read_text(curve_line).outcomes.at(0).fields;
  EXPECT_EQ(curve.at("cluster.intra_node"), "None");
}

TEST(CaseFile, PassesOverKeysThatAreLikeNoOther) {
  EXPECT_EQ(read_text(replaced(training_line, R"("gpus":8)", R"("remark":[[1]],"sp":2,"gpus":8)"))
                .trainings,
            read_text(training_line).trainings);
}

TEST(CaseFile, BlankLinesAndALastLineWithoutABreakAreNoError) {
  const std::string two =
      "\n" + std::string(training_line) + "\r\n  \n" + replaced(training_line, "/a-", "/b-");
  EXPECT_EQ(read_text(two).size(), 2U);
}

struct Refused {
  const char* what;
  std::string_view line;
  const char* from;
  const char* to;
  const char* part;  ///< of the sentence
};

const std::vector<Refused> refused_lines{
    {"version", training_line, "dlscale.case/1", "dlscale.case/2",
     "schema is \"dlscale.case/2\", and this program reads dlscale.case/1"},
    {"no schema", training_line, R"("schema":"dlscale.case/1",)", "", "schema is missing"},
    {"missing", training_line, R"("gpus":8,)", "", "gpus is missing"},
    {"twice", training_line, R"("nics":1)", R"("nics":1,"nics":1)", "nics stands twice"},
    {"below missing", training_line, R"("kind":"pcie3x16",)", "",
     "cluster.intra_node.kind is missing"},
    {"null", training_line, R"("gpus":8,)", R"("gpus":null,)", "gpus is null, and is needed"},
    {"text for number", training_line, R"("gpus":8,)", R"("gpus":"8",)",
     "gpus is \"8\", where a whole number from 1"},
    {"true for number", training_line, R"("nics":1)", R"("nics":true)",
     "cluster.inter_node.nics is true"},
    {"number for text", training_line, R"("precision":"fp32")", R"("precision":32)",
     "precision is 32, where a text"},
    {"empty text", training_line, R"("precision":"fp32")", R"("precision":"")", "precision is"},
    {"object for list", training_line, R"("assumed":["run.overlap"])", R"("assumed":{})",
     "assumed is an object, where a list"},
    {"list for object", training_line, R"("network":{"name")", R"("network":[],"was":{"name")",
     "network is a list, where an object"},
    {"zero", training_line, R"("gpus":8,)", R"("gpus":0,)", "gpus is 0"},
    {"negative", training_line, "10000000000.0", "-1e10",
     "cluster.intra_node.nominal_bandwidth_bytes_per_s is -1"},
    {"no bandwidth", training_line, "10000000000.0", "0", "is 0, where a number from 1"},
    {"fraction", training_line, R"("nodes":2)", R"("nodes":2.5)", "nodes is 2.5"},
    {"negative time", curve_line, "0.00011,", "-0.00011,", "given[0].time_s is -0.00011"},
    {"zero throughput", training_line, R"("samples_per_s":320.0)", R"("samples_per_s":0)",
     "given[0].samples_per_s is 0"},
    {"NaN", training_line, "1000.5", "NaN", "is not JSON"},
    {"infinity", training_line, "1000.5", "Infinity", "is not JSON"},
    {"beyond doubles", training_line, "1000.5", "1e999", "too large"},
    {"absurd", training_line, "25000000", "1e300", "network.parameters is"},
    {"wraps", training_line, R"("gpus":8,)", R"("gpus":18446744073709551615,)", "gpus is 1844"},
    {"nodes", training_line, R"("nodes":2)", R"("nodes":3)",
     "nodes is 3, and 8 GPUs on nodes of 4 fill 2"},
    {"split", training_line, R"("dp":8)", R"("dp":4)",
     "gpus is 8, and run.parallel splits over dp · tp · pp · cp = 4 · 1 · 1 · 1"},
    {"batch", training_line, R"("global_batch":256)", R"("global_batch":255)",
     "global_batch is 255, and batch_per_gpu · gpus is 32 · 8"},
    {"batch given", training_line, R"("global_batch":32})", R"("global_batch":31})",
     "given[0].global_batch is 31"},
    {"no link", training_line, R"("inter_node":{)", R"("inter_node":null,"was":{)",
     "cluster.inter_node is not told"},
    {"id", training_line, "made/a-", "mode/a-", "and set is \"made\""},
    {"quality", training_line, R"("quality":"A")", R"("quality":"D")", "where A, B or C is needed"},
    {"experts", training_line, R"("layers":2)",
     R"("moe":{"experts":2,"experts_per_token":3,"expert_ffn":1})",
     "network.moe.experts_per_token is 3"},
    {"misspelt key", training_line, R"("gpus_per_node":4)", R"("gpu_per_node":4)",
     "gpu_per_node is not a field. Did you mean gpus_per_node?"},
    {"control in key", training_line, R"("gpus_per_node":4)", R"("gpus_per_nod\u000ae":4)",
     "gpus_per_nod?e is not a field. Did you mean gpus_per_node?"},
    {"misspelt optional key", training_line, R"("measured")", R"("mesured")",
     "mesured is not a field. Did you mean measured?"},
    {"misspelt key below", training_line, R"("framework")", R"("framewrok")",
     "run.framewrok is not a field. Did you mean run.framework?"},
    {"misspelt word", training_line, R"("overlap":"wfbp")", R"("overlap":"wbfp")",
     "run.overlap is \"wbfp\", which is not a known value. Did you mean \"wfbp\"?"},
    {"not measured", training_line, R"("samples_per_s":1000.5,)", "",
     "measured.samples_per_s is missing"},
    {"task", curve_line, R"("task":"interpolate")", R"("task":"guess")", "task is \"guess\""},
    {"order of sizes", curve_line, "[1000,100000,", "[100000,100000,",
     "given[0].bytes is a list, which does not ascend"},
    {"fewer times", curve_line, "[0.000011,", "[",
     "given[0].time_s is a list, of 2, and there are 3 sizes"},
    {"fewer measured", curve_line, "[0.00002,", "[", "measured.time_s is a list, of 1"},
    {"fewer noises", curve_line, "[0.01,0.02]", "[0.01]", "noise is a list, of 1"},
    {"no sizes", curve_line, "[10000,1000000]", "[]", "query.bytes is a list, which holds nothing"},
    {"no scale", curve_line, R"("ranks":4,"nodes":2,"cluster")", R"("ranks":0,"nodes":0,"cluster")",
     "neither ranks nor nodes are told"},
    {"not UTF-8", training_line, "A net", "A n\xe4t", "is not JSON in UTF-8"},
    {"no JSON", training_line, R"("gpus":8,)", R"("gpus":8;)", "column "},
};

TEST(CaseFile, RefusesInOneSentenceThatNamesLineFieldAndWhy) {
  for (const Refused& refused : refused_lines) {
    SCOPED_TRACE(refused.what);
    expect_contains(refusal_with(refused.line, refused.from, refused.to), refused.part);
  }
}

TEST(CaseFile, RefusesTwoSchemasInOneFile) {
  expect_contains(refusal_of(std::string(training_line) + "\n" + std::string(curve_line)),
                  "cases.jsonl:2: schema is \"dlscale.allreduce/1\", and the lines before are "
                  "dlscale.case/1");
}

TEST(CaseFile, RefusesAnIdThatStandsTwice) {
  const std::string message =
      refusal_of(std::string(training_line) + "\n\n" + std::string(training_line));
  expect_contains(message, "cases.jsonl:3: id is \"made/a-8gpu\", as in ");
  expect_contains(message, "cases.jsonl:1");
}

TEST(CaseFile, RefusesALastLineThatWasCutShort) {
  const std::string line(training_line);
  for (std::size_t length = 1; length < line.size(); length += 37) {
    const std::string text = replaced(line, "/a-", "/b-") + "\n" + line.substr(0, length);
    expect_contains(refusal_of(text), "cases.jsonl:2: the last line is cut short");
  }
}

TEST(CaseFile, RefusesWhatIsNoObject) {
  for (const char* text : {"[]\n", "3\n", "\"text\"\n", "null\n"}) {
    expect_contains(refusal_of(text), "cases.jsonl:1: this is not a JSON object");
  }
}

TEST(CaseFile, RefusesWhatHoldsNothing) {
  for (const char* text : {"", "\n", " \n\t\n"}) {
    expect_contains(refusal_of(text), "cases.jsonl holds no cases");
  }
}

TEST(CaseFile, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  const auto refusal = [](const std::filesystem::path& path) {
    return config_error([&] { (void)read_cases(path); });
  };
  expect_contains(refusal(folder.path()), "it is a folder");
  expect_contains(refusal(folder.path() / "none.jsonl"), "none.jsonl cannot be read");
  const std::filesystem::path pipe = folder.path() / "pipe.jsonl";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_contains(refusal(pipe), "it is a pipe or a device");
  expect_contains(refusal("/dev/zero"), "it is a pipe or a device");
}

TEST(CaseFile, DeepNestingIsNoDanger) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_EQ(
      read_text(replaced(training_line, R"("gpus":8)", R"("remark":)" + deep + R"(,"gpus":8)"))
          .size(),
      1U);
  std::string objects;
  for (int i = 0; i < 20000; ++i) objects += R"({"x":)";
  objects += "1" + std::string(20000, '}');
  EXPECT_EQ(
      read_text(replaced(training_line, R"("gpus":8)", R"("remark":)" + objects + R"(,"gpus":8)"))
          .size(),
      1U);
}

/// The files of published cases, where they are present.
TEST(CaseFile, ReadsAllPublishedCases) {
  const std::vector<std::pair<const char*, std::size_t>> files{
      {"open.jsonl", 858}, {"open_llm.jsonl", 867}, {"open_allreduce.jsonl", 72}};
  for (const auto& [name, count] : files) {
    const auto path = std::filesystem::path(DLSCALE_SHARED_DATA) / "validation" / name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    EXPECT_EQ(read_cases(path).size(), count) << name;
  }
}

}  // namespace
}  // namespace dlscale::cases
