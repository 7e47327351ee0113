#include "app/options/framework_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/options/framework_option.hpp"
#include "core/base/error.hpp"
#include "core/run/schedule_settings.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using Options = std::map<std::string, std::string>;

const std::vector<FrameworkProfile>& profiles() {
  static const std::vector<FrameworkProfile> all = load_frameworks();
  return all;
}

/// What a command says that names nothing but the framework.
struct Asked {
  Cluster cluster = load_cluster("dgx_h100");
  std::set<std::string, std::less<>> given = {};
  AskedByHand by_hand = {};
  Asked() {
    by_hand.usual_schedules = {Schedule::wait_free};
    by_hand.gradients = 100_MiB;
  }
  [[nodiscard]] FrameworkChoice choice(std::string_view name) {
    by_hand.has = [this](std::string_view option) { return given.contains(option); };
    by_hand.cluster = &cluster;
    return framework_choice(asked_framework(profiles(), name), by_hand);
  }
  [[nodiscard]] Options options(std::string_view name) {
    const FrameworkChoice found = choice(name);
    return {found.options.begin(), found.options.end()};
  }
  [[nodiscard]] std::string notes(std::string_view name) {
    std::string all;
    for (const std::string& note : choice(name).notes) all += note + "\n";
    return all;
  }
};

template <class Function>
std::string refusal(Function function) {
  try {
    function();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string value_of(const Options& options, const std::string& name) {
  const auto found = options.find(name);
  return found == options.end() ? "" : found->second;
}

/// The run that the options ask for, on so many ranks.
dlscale::Run run_of(const Options& options) {
  dlscale::Run run;
  run.network = "alexnet";
  run.ranks = 4;
  const std::string schedule = value_of(options, "--schedule");
  if (!schedule.empty()) run.schedule = parse_schedule(schedule);
  const std::string launch = value_of(options, "--launch");
  if (!launch.empty()) run.launch = parse_launch(launch);
  const std::string copy = value_of(options, "--input-copy");
  if (!copy.empty()) run.input_copy = parse_input_copy(copy);
  apply({.synchronisation = value_of(options, "--synchronisation"),
         .cycle = value_of(options, "--cycle"),
         .fusion_threshold = value_of(options, "--fusion-threshold"),
         .bucket = value_of(options, "--bucket"),
         .first_bucket = value_of(options, "--first-bucket"),
         .partition = value_of(options, "--partition"),
         .credit = value_of(options, "--credit"),
         .servers = value_of(options, "--servers"),
         .sharding = value_of(options, "--sharding"),
         .transport = value_of(options, "--transport"),
         .callers = value_of(options, "--callers")},
        std::span(&run.schedule, 1), run);
  return run;
}

TEST(FrameworkChoice, OfEveryProfileIsARunOrASentenceThatSaysWhatToAskFor) {
  std::vector<std::string> refused;
  for (const FrameworkProfile& profile : profiles()) {
    for (const char* cluster : {"dgx_h100", "p40x16"}) {
      Asked asked;
      asked.cluster = load_cluster(cluster);
      const std::string sentence = refusal([&] { (void)asked.choice(profile.id); });
      if (!sentence.empty()) {
        EXPECT_THAT(sentence, HasSubstr("Ask for --synchronisation all_reduce")) << profile.id;
        refused.push_back(profile.id);
        asked.given = {"--synchronisation"};
        asked.by_hand.synchronisations = {{Synchronisation::all_reduce}};
      }
      EXPECT_NO_THROW(check(run_of(asked.options(profile.id)))) << profile.id;
      EXPECT_THAT(asked.notes(profile.id),
                  HasSubstr("configs/frameworks/" + profile.id + " (" + profile.name));
    }
  }
  std::ranges::sort(refused);
  const auto again = std::ranges::unique(refused);
  refused.erase(again.begin(), again.end());
  EXPECT_THAT(refused, testing::ElementsAre("byteps_0.2", "tf_cnn_benchmarks_replicated"));
}

TEST(FrameworkChoice, SetsWhatTheProfileStates) {
  Asked asked;
  const Options horovod = asked.options("horovod 0.19");
  EXPECT_THAT(horovod, Contains(Pair("--schedule", "horovod")));
  const dlscale::Run run = run_of(horovod);
  EXPECT_EQ(run.settings.cycle, 5.0_ms);
  EXPECT_EQ(run.settings.fusion_threshold, 64_MiB);
  EXPECT_THAT(asked.notes("horovod 0.19"),
              AllOf(HasSubstr("schedule horovod"), HasSubstr("fusion_threshold 64.0 MiB"),
                    HasSubstr("a vote at each wake-up")));

  const dlscale::Run caffe = run_of(asked.options("s_caffe"));
  EXPECT_EQ(caffe.synchronisation, Synchronisation::parameter_server);
  EXPECT_EQ(server_count(caffe), 1);

  const dlscale::Run servers = run_of(asked.options("mxnet_0.10"));
  EXPECT_EQ(server_count(servers), 4);
  EXPECT_EQ(servers.settings.sharding, Sharding::mxnet);

  const dlscale::Run parts = run_of(asked.options("bytescheduler"));
  EXPECT_EQ(parts.schedule, Schedule::priority);
  EXPECT_EQ(parts.settings.partition, Bytes(4e6));
  EXPECT_EQ(parts.settings.credit, 4);  // 16 MB of them

  const dlscale::Run pinned = run_of(asked.options("caffe_mpi_2.0"));
  EXPECT_EQ(pinned.input_copy, InputCopy::ahead);
  EXPECT_EQ(run_of(asked.options("nvidia_pytorch_2021")).launch, Launch::graph);
}

TEST(FrameworkChoice, CallsServersByTheProcessesThatTheProfileHas) {
  Asked asked;
  const dlscale::Run copies = run_of(asked.options("tf_cnn_benchmarks_distributed_replicated"));
  EXPECT_EQ(copies.settings.transport, Transport::grpc);
  EXPECT_EQ(copies.settings.callers, Callers::nodes);
  EXPECT_EQ(copies.settings.sharding, Sharding::tensorflow);
  const dlscale::Run one = run_of(asked.options("tf_cnn_benchmarks_parameter_server_cpu"));
  EXPECT_EQ(one.settings.transport, Transport::grpc);
  EXPECT_EQ(one.settings.callers, Callers::several_nodes);
  EXPECT_THAT(asked.notes("tf_cnn_benchmarks_parameter_server_cpu"),
              AllOf(HasSubstr("between_nodes grpc"), HasSubstr("callers several_nodes")));
  // Whose library has no model of its own.
  const dlscale::Run other = run_of(asked.options("mxnet_0.10"));
  EXPECT_EQ(other.settings.transport, Transport::collectives);
  EXPECT_EQ(other.settings.callers, Callers::ranks);
  EXPECT_THAT(asked.notes("mxnet_0.10"), HasSubstr("callers nodes: in collectives"));
  // None has calls without servers.
  EXPECT_THAT(asked.options("tensorflow_2_mirrored"),
              Not(Contains(Pair("--transport", testing::_))));
}

TEST(FrameworkChoice, LetsCallsThatAreSaidByHandWin) {
  Asked asked;
  asked.given = {"--transport"};
  asked.by_hand.transports = {{Transport::collectives}};
  const Options reduced = asked.options("tf_cnn_benchmarks_distributed_replicated");
  EXPECT_THAT(reduced, Not(Contains(Pair("--callers", testing::_))));
  EXPECT_THAT(asked.notes("tf_cnn_benchmarks_distributed_replicated"),
              AllOf(HasSubstr("--transport in place of between_nodes grpc"),
                    HasSubstr("callers nodes: in collectives all ranks take part")));
  asked.by_hand.transports = {{Transport::grpc_rdma}};
  EXPECT_THAT(asked.options("tf_cnn_benchmarks_distributed_replicated"),
              Contains(Pair("--callers", "nodes")));
  EXPECT_THAT(asked.options("mxnet_0.10"), Contains(Pair("--callers", "nodes")));
  asked.given = {"--transport", "--callers"};
  EXPECT_THAT(asked.notes("mxnet_0.10"), HasSubstr("--callers in place of callers nodes"));
}

TEST(FrameworkChoice, ClosesBucketsAsTheProfileSays) {
  Asked asked;
  const dlscale::Run usual = run_of(asked.options("pytorch_ddp"));
  EXPECT_EQ(usual.settings, ScheduleSettings{});
  const dlscale::Run paddle = run_of(asked.options("paddlepaddle_2.0"));
  EXPECT_EQ(paddle.settings.bucket, 32_MiB);
  EXPECT_EQ(paddle.settings.first_bucket, first_bucket_limit);  // which is not known of it
  const dlscale::Run one = run_of(asked.options("chainermn_1.0"));
  EXPECT_EQ(one.schedule, Schedule::bucketed);
  EXPECT_EQ(one.settings.first_bucket, 100_MiB);  // all gradients, once backward has ended
  const dlscale::Run three = run_of(asked.options("nvcaffe_0.16"));
  EXPECT_NEAR(three.settings.bucket / 100_MiB, 1.0 / 3, 1e-6);
  EXPECT_EQ(three.settings.first_bucket, three.settings.bucket);
}

TEST(FrameworkChoice, LetsWhatIsSaidByHandWinAndSaysSo) {
  Asked asked;
  asked.given = {"--cycle", "--launch"};
  EXPECT_THAT(asked.options("horovod 0.21"), Not(Contains(Pair("--cycle", testing::_))));
  EXPECT_THAT(asked.notes("horovod 0.21"), HasSubstr("by hand: --cycle in place of fusion_cycle"));

  Asked other;
  other.given = {"--schedule"};
  other.by_hand.schedules = {{Schedule::wait_free}};
  const Options settled = other.options("horovod 0.21");
  EXPECT_THAT(settled, Not(Contains(Pair("--cycle", testing::_))));
  EXPECT_THAT(other.notes("horovod 0.21"),
              AllOf(HasSubstr("--schedule in place of schedule horovod"),
                    HasSubstr("fusion_threshold 128 MiB, which changes nothing under wait_free"),
                    HasSubstr("negotiation per_tensor, of which wait_free has no term")));
  // The servers of a profile that is refused under its own schedule.
  EXPECT_EQ(run_of(other.options("byteps")).synchronisation, Synchronisation::parameter_server);
  other.given = {"--schedule", "--synchronisation"};
  other.by_hand.synchronisations = {{Synchronisation::all_reduce}};
  EXPECT_THAT(other.notes("byteps"),
              HasSubstr("--synchronisation in place of gradients parameter_server"));
}

TEST(FrameworkChoice, SaysWhatTheModelCannotFollowAndWhatIsNotKnown) {
  Asked asked;
  EXPECT_THAT(asked.notes("bytescheduler"), HasSubstr("so as usual: gradients"));
  EXPECT_THAT(asked.notes("mxnet_0.10"), AllOf(HasSubstr("at the speed of a host"),
                                               HasSubstr("copies in a node and ps_lite between")));
  asked.cluster.nccl.reset();
  EXPECT_THAT(asked.notes("pytorch_ddp"), HasSubstr("whose costs cluster dgx_h100 does not"));
  asked.by_hand.fitted = true;
  EXPECT_THAT(asked.notes("pytorch_ddp"), HasSubstr("take what was measured on the machine"));
  asked.cluster.device.kind = DeviceKind::cpu;
  EXPECT_THAT(asked.notes("nvidia_pytorch_2021"), HasSubstr("launch recorded, which processors"));
  EXPECT_THAT(asked.notes("caffe_mpi_2.0"), HasSubstr("have no memory of their own"));
}

TEST(AskedFramework, IsFoundByItsIdItsBeginningOrItsVersion) {
  const auto id = [](std::string_view text) { return asked_framework(profiles(), text).id; };
  EXPECT_EQ(id("horovod_0.19"), "horovod_0.19");
  EXPECT_EQ(id("Horovod 0.19"), "horovod_0.19");
  EXPECT_EQ(id("horovod 0.20"), "horovod_0.19");
  EXPECT_EQ(id("horovod"), "horovod_0.21");
  EXPECT_EQ(id("pytorch"), "pytorch_ddp");
  EXPECT_EQ(id("byteps"), "byteps_0.2");
}

TEST(AskedFramework, ThatIsNoneIsRefusedWithThoseThatAreNear) {
  const auto why = [](std::string_view text) {
    return refusal([&] { (void)asked_framework(profiles(), text); });
  };
  EXPECT_THAT(why("horovod 0.15"),
              AllOf(HasSubstr("horovod_0.19 (Horovod before 0.21"), HasSubstr("Name one of them")));
  EXPECT_THAT(why("tf_cnn_benchmarks"), HasSubstr("tf_cnn_benchmarks_replicated_nccl"));
  EXPECT_THAT(why("pytroch"), HasSubstr("Did you mean \"pytorch_ddp\"?"));
  EXPECT_THAT(why("horovd"), HasSubstr("Did you mean \"horovod"));
  EXPECT_THAT(why("keras"), HasSubstr("is not a profile in configs/frameworks"));
  EXPECT_THAT(why(""), HasSubstr("is not a profile"));
}

}  // namespace
}  // namespace dlscale::app
