#include "core/run/framework_file.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/config/config_path.hpp"
#include "tests/core/mutated.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

constexpr std::string_view small_framework = R"(framework: small
name: Small
versions: "1.0"
match: [small 1, little]
input_copy: pinned
gradients: all_reduce
in_node: nccl
between_nodes: unknown
schedule: bucketed
first_bucket: 1 MiB
bucket: 25 MiB
groups: none
fusion_threshold: none
fusion_cycle: none
partition: none
credit: none
sharding: none
callers: none
node_sum: none
update_on: worker
negotiation: unknown
launch: eager
compute:
  - {networks: cnn, width: two_bytes, layout: channels_last, elementwise: norm_act, update: fused, libraries: 2019.5, source: its layers}
  - {networks: cnn, layout: unknown, elementwise: separate, source: its layers}
  - {networks: transformer, network: BERT, elementwise: all, optimizer: lamb, math: float, attention: fused,
     head: all, tokens: 0.5, tokens_of_sequence: 512, tokens_from_batch: 4, weights: half, source: its layers}
sources: [{of: all, title: its source}]
)";

FrameworkProfile load(const std::string& file) {
  return load_framework(file);
}

std::string framework_file_error_after(std::string_view from, std::string_view to) {
  return test::error_after(small_framework, from, to, load);
}

TEST(ConfiguredFrameworks, AllLoadAndAreCalledLikeTheirFiles) {
  const std::vector<FrameworkProfile> profiles = load_frameworks();
  const std::vector<std::string> names = config_names("frameworks");
  EXPECT_GE(names.size(), 20U);
  ASSERT_EQ(profiles.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(profiles[i].id, names[i]);
}

TEST(ConfiguredFrameworks, HaveTheSizesThatTheirScheduleIsAbout) {
  for (const FrameworkProfile& profile : load_frameworks()) {
    EXPECT_TRUE(profile.gradients.is_stated() || profile.id == "bytescheduler") << profile.id;
    if (!profile.schedule.is_stated()) continue;
    const Schedule schedule = profile.schedule.value();
    EXPECT_EQ(schedule == Schedule::horovod, profile.fusion_cycle.is_stated()) << profile.id;
    EXPECT_EQ(schedule == Schedule::priority, profile.partition.is_stated()) << profile.id;
    if (schedule == Schedule::bucketed) {
      // Its scripts set no size, and which groups that version makes was not looked up.
      if (profile.id == "paddlepaddle_1.8_bert") continue;
      EXPECT_TRUE(profile.bucket.is_stated() || profile.groups.is_stated()) << profile.id;
    }
  }
}

TEST(ConfiguredFrameworks, KnowWhenHorovodChangedItsDefaults) {
  const FrameworkProfile before = load_framework("horovod_0.19");
  EXPECT_EQ(before.fusion_threshold.value(), 64_MiB);
  EXPECT_EQ(before.fusion_cycle.value(), 5.0_ms);
  const FrameworkProfile since = load_framework("horovod_0.21");
  // The defaults of our own schedule are those of Horovod today.
  EXPECT_EQ(since.fusion_threshold.value(), ScheduleSettings{}.fusion_threshold);
  EXPECT_EQ(since.fusion_cycle.value(), ScheduleSettings{}.cycle);
  EXPECT_EQ(load_framework("byteps_0.2").partition.value(), ScheduleSettings{}.partition);
}

TEST(ConfiguredFrameworks, KnowWhichServerKeepsWhat) {
  const auto sharding = [](const char* name) { return load_framework(name).sharding; };
  EXPECT_EQ(sharding("mxnet_0.10").value(), Sharding::mxnet);
  EXPECT_EQ(sharding("tf_cnn_benchmarks_distributed_replicated").value(), Sharding::tensorflow);
  for (const char* name :
       {"tf_cnn_benchmarks_parameter_server_cpu", "tf_cnn_benchmarks_parameter_server_gpu"}) {
    EXPECT_EQ(sharding(name).value(), Sharding::tensorflow_greedy) << name;
  }
  for (const FrameworkProfile& profile : load_frameworks()) {
    const bool servers = profile.gradients.is_unknown() ||
                         profile.gradients.value() == GradientPath::parameter_server;
    EXPECT_EQ(profile.sharding.is_none(), !servers) << profile.id;
  }
}

TEST(Frameworks, GiveParametersToServersOnlyWhereThereAreSome) {
  expect_contains(framework_file_error_after("sharding: none", "sharding: mxnet"),
                  "of servers where gradients take another way");
  expect_contains(framework_file_error_after("sharding: none", "sharding: mxnt"), "mxnet");
  expect_contains(framework_file_error_after("sharding: none\n", ""), "sharding");
  expect_contains(framework_file_error_after("callers: none", "callers: nodes"),
                  "/callers is \"nodes\" (of servers where gradients take another way)");
  expect_contains(framework_file_error_after("callers: none", "callers: node"),
                  "Did you mean \"nodes\"?");
}

TEST(ConfiguredFrameworks, SayHowANodeAddsWhereNoCollectiveDoes) {
  const auto sum = [](const char* name) { return load_framework(name).node_sum; };
  EXPECT_EQ(sum("byteps_0.2").value(), NodeSum::ring);
  EXPECT_EQ(sum("mxnet_0.10").value(), NodeSum::host);
  EXPECT_EQ(sum("mxnet_0.10_device").value(), NodeSum::star);
  EXPECT_EQ(sum("tf_cnn_benchmarks_parameter_server_cpu").value(), NodeSum::host);
  EXPECT_EQ(sum("tf_cnn_benchmarks_parameter_server_gpu").value(), NodeSum::star);
  for (const FrameworkProfile& profile : load_frameworks()) {
    const bool collective =
        profile.gradients.is_stated() && profile.gradients.value() == GradientPath::all_reduce;
    EXPECT_EQ(profile.node_sum.is_stated(),
              !collective && profile.id != "bytescheduler" && profile.id != "s_caffe")
        << profile.id;
  }
  expect_contains(framework_file_error_after("node_sum: none", "node_sum: hosts"), "host");
}

TEST(ConfiguredFrameworks, AreFoundByWhatCasesCallThem) {
  const std::vector<FrameworkProfile> profiles = load_frameworks();
  const std::map<std::string, std::string> expected{
      {"PyTorch 1.4 + Horovod 0.19", "horovod_0.19"},
      {"PyTorch + Horovod (MG-WFBP)", "mg_wfbp"},
      {"NVCaffe 0.16 (B-Caffe)", "b_caffe"},
      {"TensorFlow 1.1-1.2 tf_cnn_benchmarks: parameter_server/cpu",
       "tf_cnn_benchmarks_parameter_server_cpu"},
      {"TensorFlow 1.1-1.2 tf_cnn_benchmarks: replicated (with NCCL)",
       "tf_cnn_benchmarks_replicated_nccl"},
      {"TensorFlow 1.1-1.2 tf_cnn_benchmarks: replicated (without NCCL)/gpu",
       "tf_cnn_benchmarks_replicated"},
      {"TensorFlow 1.1-1.2 tf_cnn_benchmarks: distributed_replicated, cross_replica_sync",
       "tf_cnn_benchmarks_distributed_replicated"},
      {"MindSpore: batch size=128", "mindspore_1.1"},
      {"TensorFlow2: batch size = 64 & with xla", "tensorflow_2_mirrored"},
      {"PyTorch (NGC) resnet50", "pytorch_ddp"},
      {"PaddlePaddle (NGC, DeepLearningExamples)", "paddlepaddle_2.0"},
      {"TensorFlow 1.3: tensorpack fake-location=gpu", "tensorpack"}};
  for (const auto& [text, id] : expected) {
    const FrameworkProfile* found = find_framework(profiles, text);
    ASSERT_NE(found, nullptr) << text;
    EXPECT_EQ(found->id, id) << text;
  }
  EXPECT_EQ(find_framework(profiles, "nobody knows"), nullptr);
}

TEST(Frameworks, OfTwoMatchesTheLongerOneIsMeant) {
  const FrameworkProfile small = test::load_text(small_framework, load);
  FrameworkProfile longer = small;
  longer.id = "longer";
  longer.match = {"small 1.5"};
  std::vector<FrameworkProfile> profiles{small, longer};
  EXPECT_EQ(find_framework(profiles, "SMALL 1.5")->id, "longer");
  EXPECT_EQ(find_framework(profiles, "Small 1.0")->id, "small");
  profiles[1].match = {"small 1"};
  EXPECT_EQ(find_framework(profiles, "small 1"), nullptr);
}

TEST(ConfiguredFrameworks, AreFoundByTheReleaseWhereNamesAreTheSame) {
  const std::vector<FrameworkProfile> profiles = load_frameworks();
  const auto found = [&](std::string_view text, ReleaseMonth month) {
    return find_framework(profiles, text, month)->id;
  };
  EXPECT_EQ(find_framework(profiles, "Horovod"), nullptr);
  EXPECT_EQ(found("Horovod", {2020, 10}), "horovod_0.19");
  EXPECT_EQ(found("Horovod", {2020, 11}), "horovod_0.21");
  EXPECT_EQ(found("PyTorch NVIDIA Release 20.06", {2020, 6}), "pytorch_ddp");
  EXPECT_EQ(found("PyTorch NVIDIA Release 21.09", {2021, 9}), "nvidia_pytorch_2021");
}

TEST(Frameworks, OfOneNameAreToldApartByTheirReleases) {
  const FrameworkProfile small = test::load_text(small_framework, load);
  std::vector<FrameworkProfile> profiles{small, small, small};
  profiles[0].until = ReleaseMonth{2019, 12};
  profiles[1].since = ReleaseMonth{2020, 1};
  profiles[2].since = ReleaseMonth{2022, 1};
  EXPECT_EQ(find_framework(profiles, "small 1"), nullptr);
  EXPECT_EQ(find_framework(profiles, "small 1", ReleaseMonth{2019, 12}), profiles.data());
  EXPECT_EQ(find_framework(profiles, "small 1", ReleaseMonth{2020, 1}), &profiles[1]);
  // Of two that are out, the later.
  EXPECT_EQ(find_framework(profiles, "small 1", ReleaseMonth{2022, 6}), &profiles[2]);
  profiles[2].since = profiles[1].since;
  EXPECT_EQ(find_framework(profiles, "small 1", ReleaseMonth{2022, 6}), nullptr);
  // The only one is meant whatever the month.
  profiles.resize(1, small);
  EXPECT_EQ(find_framework(profiles, "small 1", ReleaseMonth{2022, 6}), profiles.data());
}

TEST(Frameworks, StarsStandForAnythingBetween) {
  FrameworkProfile profile = test::load_text(small_framework, load);
  profile.match = {"small*horovod"};
  const std::vector<FrameworkProfile> profiles{profile};
  EXPECT_NE(find_framework(profiles, "Small 3 + Horovod"), nullptr);
  EXPECT_NE(find_framework(profiles, "smallhorovod"), nullptr);
  EXPECT_EQ(find_framework(profiles, "Horovod for Small"), nullptr);
  EXPECT_EQ(find_framework(profiles, "small"), nullptr);
}

TEST(FrameworkFile, ReadsMonths) {
  const auto with = [](std::string_view key) {
    return framework_file_error_after("input_copy: pinned",
                                      std::string(key) + "\ninput_copy: pinned");
  };
  expect_contains(with("since: 2020"), "/since is \"2020\" (no month");
  expect_contains(with("until: 2020-13"), "/until is \"2020-13\" (no month");
  expect_contains(with("until: 2020-1x"), "/until");
  expect_contains(with("since: 2020-02\nuntil: 2020-01"), "before since");
  const std::string dated = std::string(small_framework) + "since: 2020-11\nuntil: 2021-02\n";
  const FrameworkProfile profile = test::load_text(dated, load);
  EXPECT_EQ(profile.since, (ReleaseMonth{2020, 11}));
  EXPECT_EQ(profile.until, (ReleaseMonth{2021, 2}));
}

TEST(FrameworkFile, TellsNothingFromNone) {
  const FrameworkProfile profile = test::load_text(small_framework, load);
  EXPECT_TRUE(profile.between_nodes.is_unknown());
  EXPECT_TRUE(profile.groups.is_none());
  EXPECT_FALSE(profile.groups.is_stated());
  EXPECT_EQ(profile.bucket.value(), 25_MiB);
  EXPECT_THROW((void)profile.credit.value(), std::logic_error);
  EXPECT_EQ(to_text(profile.input_copy), "pinned");
  EXPECT_EQ(to_text(profile.schedule), "bucketed");
  EXPECT_EQ(to_text(profile.negotiation), "unknown");
  EXPECT_EQ(profile.launch.value(), KernelLaunch::eager);
  EXPECT_EQ(to_text(profile.launch), "eager");
}

TEST(FrameworkFile, SaysHowItComputesByNetworkAndPrecision) {
  const FrameworkProfile profile = test::load_text(small_framework, load);
  const auto traits = [&](NetworkFamily family, ElementWidth width, std::string_view name) {
    return traits_of(profile.compute, {family, width, name});
  };
  const ComputeTraits half = traits(NetworkFamily::cnn, ElementWidth::two_bytes, "resnet50");
  EXPECT_TRUE(half.stated);
  EXPECT_EQ(half.layout, ImageLayout::channels_last);
  EXPECT_EQ(half.elementwise, Elementwise::norm_act);
  EXPECT_EQ(half.update, UpdateKernels::fused);
  EXPECT_EQ(half.optimizer, Optimizer::momentum) << "the usual one";
  EXPECT_EQ(half.libraries, 2019.5);
  const ComputeTraits single = traits(NetworkFamily::cnn, ElementWidth::four_bytes, "resnet50");
  EXPECT_FALSE(single.layout);
  EXPECT_EQ(single.elementwise, Elementwise::separate);
  const ComputeTraits bert =
      traits(NetworkFamily::transformer, ElementWidth::four_bytes, "bert_large");
  EXPECT_EQ(bert.optimizer, Optimizer::lamb);
  EXPECT_EQ(bert.head, DecodedTokens::all);
  EXPECT_TRUE(bert.float_math && bert.fused_attention && !bert.master_weights);
  EXPECT_EQ(computed_tokens(bert, 512, 4), 0.5);
  EXPECT_EQ(computed_tokens(bert, 512, 3), 1);
  EXPECT_EQ(computed_tokens(bert, 128, 4), 1);
  const ComputeTraits other = traits(NetworkFamily::transformer, ElementWidth::two_bytes, "gpt2");
  EXPECT_FALSE(other.stated);
  EXPECT_EQ(other.elementwise, Elementwise::kernels);
  EXPECT_EQ(other.optimizer, Optimizer::adam);
}

TEST(FrameworkFile, WrongTraitsAreRefusedByName) {
  expect_contains(framework_file_error_after("layout: channels_last", "layout: channel_last"),
                  "Did you mean \"channels_last\"?");
  expect_contains(framework_file_error_after("width: two_bytes", "width: 2"), "/width: ");
  expect_contains(framework_file_error_after("networks: cnn, width: two_bytes", "width: two_bytes"),
                  "/networks is missing");
  expect_contains(framework_file_error_after("libraries: 2019.5", "libraries: 19"), "/libraries");
  expect_contains(framework_file_error_after("layout: unknown, ", ""), "/layout is missing");
  expect_contains(framework_file_error_after("norm_act, update", "kernels, update"),
                  "Write separate, pointwise, norm_act or all.");
  expect_contains(framework_file_error_after("math: float", "math: double"),
                  "/math is \"double\" (an unknown word). Write half or float.");
  expect_contains(framework_file_error_after("tokens: 0.5", "tokens: 2"), "/tokens");
  expect_contains(framework_file_error_after(", source: its layers}\n  - {networks: cnn, layout",
                                             "}\n  - {networks: cnn, layout"),
                  "/source is missing");
}

TEST(FrameworkFile, MayExchangeAsAnotherDoes) {
  const std::string like =
      "framework: other\nname: Other\nversions: \"1\"\nlike: horovod_0.19\n"
      "compute: [{networks: cnn, layout: unknown, elementwise: all, source: x}]\n";
  const FrameworkProfile profile = test::load_text(like, load);
  const FrameworkProfile horovod = load_framework("horovod_0.19");
  EXPECT_EQ(profile.id, "other");
  EXPECT_EQ(profile.like, "horovod_0.19");
  EXPECT_EQ(profile.fusion_cycle.value(), horovod.fusion_cycle.value());
  EXPECT_TRUE(profile.match.empty());
  EXPECT_EQ(profile.compute.size(), 1U);
  expect_contains(test::error_after(like, "like: horovod_0.19", "like: nvidia_mxnet_2020", load),
                  "itself like another");
  expect_contains(
      test::error_after(like, "like: horovod_0.19", "like: horovod_0.19\nlaunch: eager", load),
      "launch");
}

TEST(FrameworkFile, WrongValuesAreRefusedByName) {
  expect_contains(framework_file_error_after("input_copy: pinned", "input_copy: pined"),
                  "/input_copy: \"pined\" is not");
  expect_contains(framework_file_error_after("input_copy: pinned", "input_copy: pined"),
                  "mean \"pinned\"?");
  expect_contains(framework_file_error_after("bucket: 25 MiB", "bucket: 25"),
                  "Or write unknown, or none");
  expect_contains(framework_file_error_after("first_bucket: 1 MiB", "first_bucket: 30 MiB"),
                  "more than bucket");
  expect_contains(framework_file_error_after("\nbucket: 25 MiB", "\nbucket: none"),
                  "/first_bucket");
  expect_contains(framework_file_error_after("groups: none", "groups: 0"),
                  "/groups is \"0\" (out of range)");
  expect_contains(framework_file_error_after("schedule: bucketed", "schedule: bucket"),
                  "/schedule: ");
  expect_contains(framework_file_error_after("credit: none\n", ""), "/credit is missing");
  expect_contains(framework_file_error_after("credit: none", "credits: none"),
                  "Did you mean \"credit\"?");
  expect_contains(framework_file_error_after("credit: none", "credit: 4 MB"),
                  "/credit is \"4 MB\" (of parts");
  expect_contains(framework_file_error_after("[small 1, little]", "[sm]"), "/match");
  expect_contains(framework_file_error_after("[small 1, little]", "[\"small*a\"]"), "/match");
  expect_contains(framework_file_error_after("launch: eager", "launch: eagre"), "mean \"eager\"?");
}

TEST(FrameworkFile, WhatIsKnownNeedsASource) {
  expect_contains(framework_file_error_after("of: all", "of: [bucket]"), "has no source");
  expect_contains(framework_file_error_after("of: all", "of: [negotiation]"),
                  "\"negotiation\" (no figure");
}

TEST(FrameworkFile, DamagedTextIsReadOrRefused) {
  test::expect_no_crash(small_framework, load);
}

}  // namespace
}  // namespace dlscale
