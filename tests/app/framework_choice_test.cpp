#include "app/options/framework_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "app/options/framework_option.hpp"
#include "core/base/error.hpp"
#include "core/run/schedule_settings.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<FrameworkProfile>& profiles() {
  static const std::vector<FrameworkProfile> all = load_frameworks();
  return all;
}

/// A command that names nothing but the framework.
struct Asked {
  Cluster cluster = load_cluster("dgx_h100");
  FrameworkQuestion question = {};
  TrainingValues& typed = question.typed;
  Asked() {
    question.usual_schedules = {Schedule::wait_free};
    question.gradients = 100_MiB;
  }
  [[nodiscard]] FrameworkChoice choice(std::string_view name) {
    question.cluster = &cluster;
    return framework_choice(asked_framework(profiles(), name), question);
  }
  [[nodiscard]] TrainingValues values(std::string_view name) { return choice(name).values; }
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

/// The run that the values ask for, on four ranks.
dlscale::Run run_of(const TrainingValues& values) {
  dlscale::Run run;
  run.network = "alexnet";
  run.ranks = 4;
  if (values.schedules) run.schedule = values.schedules->front();
  run.launch = values.launch.value_or(run.launch);
  run.input_copy = values.input_copy.value_or(run.input_copy);
  apply(exchange_of(values), std::span(&run.schedule, 1), run);
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
        asked.typed.synchronisations = {{Synchronisation::all_reduce}};
      }
      EXPECT_NO_THROW(check(run_of(asked.values(profile.id)))) << profile.id;
      EXPECT_THAT(asked.notes(profile.id),
                  HasSubstr("configs/frameworks/" + profile.id + " (" + profile.name));
    }
  }
  std::ranges::sort(refused);
  const auto again = std::ranges::unique(refused);
  refused.erase(again.begin(), again.end());
  EXPECT_THAT(refused, testing::ElementsAre("tf_cnn_benchmarks_replicated"));
}

TEST(FrameworkChoice, SetsWhatTheProfileStates) {
  Asked asked;
  const TrainingValues horovod = asked.values("horovod 0.19");
  EXPECT_EQ(horovod.schedules, std::vector{Schedule::horovod});
  const dlscale::Run run = run_of(horovod);
  EXPECT_EQ(run.settings.cycle, 5.0_ms);
  EXPECT_EQ(run.settings.fusion_threshold, 64_MiB);
  EXPECT_THAT(asked.notes("horovod 0.19"),
              AllOf(HasSubstr("schedule horovod"), HasSubstr("fusion_threshold 64.0 MiB"),
                    HasSubstr("a vote at each wake-up")));

  const dlscale::Run caffe = run_of(asked.values("s_caffe"));
  EXPECT_EQ(caffe.synchronisation, Synchronisation::parameter_server);
  EXPECT_EQ(server_count(caffe), 1);

  const dlscale::Run servers = run_of(asked.values("mxnet_0.10"));
  EXPECT_EQ(server_count(servers), 4);
  EXPECT_EQ(servers.settings.sharding, Sharding::mxnet);

  const dlscale::Run parts = run_of(asked.values("bytescheduler"));
  EXPECT_EQ(parts.schedule, Schedule::priority);
  EXPECT_EQ(parts.settings.partition, Bytes(4e6));
  EXPECT_EQ(parts.settings.credit, 4);  // 16 MB of them

  const dlscale::Run pinned = run_of(asked.values("caffe_mpi_2.0"));
  EXPECT_EQ(pinned.input_copy, InputCopy::ahead);
  EXPECT_EQ(run_of(asked.values("nvidia_pytorch_2021")).launch, Launch::graph);
}

TEST(FrameworkChoice, CallsServersByTheProcessesThatTheProfileHas) {
  Asked asked;
  const dlscale::Run copies = run_of(asked.values("tf_cnn_benchmarks_distributed_replicated"));
  EXPECT_EQ(copies.settings.transport, Transport::grpc);
  EXPECT_EQ(copies.settings.callers, Callers::nodes);
  EXPECT_EQ(copies.settings.sharding, Sharding::tensorflow);
  const dlscale::Run one = run_of(asked.values("tf_cnn_benchmarks_parameter_server_cpu"));
  EXPECT_EQ(one.settings.transport, Transport::grpc);
  EXPECT_EQ(one.settings.callers, Callers::several_nodes);
  EXPECT_THAT(asked.notes("tf_cnn_benchmarks_parameter_server_cpu"),
              AllOf(HasSubstr("between_nodes grpc"), HasSubstr("callers several_nodes")));
  // Whose library has no model of its own.
  const dlscale::Run other = run_of(asked.values("mxnet_0.10"));
  EXPECT_EQ(other.settings.transport, Transport::collectives);
  EXPECT_EQ(other.settings.callers, Callers::ranks);
  EXPECT_THAT(asked.notes("mxnet_0.10"), HasSubstr("callers nodes"));
  // None has calls without servers.
  EXPECT_FALSE(asked.values("tensorflow_2_mirrored").transports);
}

TEST(FrameworkChoice, LetsCallsThatAreSaidByHandWin) {
  Asked asked;
  asked.typed.transports = {{Transport::collectives}};
  const TrainingValues reduced = asked.values("tf_cnn_benchmarks_distributed_replicated");
  EXPECT_FALSE(reduced.callers);
  EXPECT_THAT(asked.notes("tf_cnn_benchmarks_distributed_replicated"),
              AllOf(HasSubstr("--transport in place of between_nodes grpc"),
                    HasSubstr("callers nodes: in collectives all ranks take part")));
  asked.typed.transports = {{Transport::grpc_rdma}};
  EXPECT_EQ(asked.values("tf_cnn_benchmarks_distributed_replicated").callers,
            std::vector{Callers::nodes});
  EXPECT_EQ(asked.values("mxnet_0.10").callers, std::vector{Callers::nodes});
  asked.typed.callers = {{Callers::ranks}};
  EXPECT_THAT(asked.notes("mxnet_0.10"), HasSubstr("--server-clients in place of callers nodes"));
}

TEST(FrameworkChoice, ClosesBucketsAsTheProfileSays) {
  Asked asked;
  const dlscale::Run usual = run_of(asked.values("pytorch_ddp"));
  EXPECT_EQ(usual.settings, ScheduleSettings{});
  const dlscale::Run paddle = run_of(asked.values("paddlepaddle_2.0"));
  EXPECT_EQ(paddle.settings.bucket, 32_MiB);
  EXPECT_EQ(paddle.settings.first_bucket, first_bucket_limit);  // which is not known of it
  const dlscale::Run one = run_of(asked.values("chainermn_1.0"));
  EXPECT_EQ(one.schedule, Schedule::bucketed);
  EXPECT_EQ(one.settings.first_bucket, 100_MiB);  // all gradients, once backward has ended
  const dlscale::Run three = run_of(asked.values("nvcaffe_0.16"));
  EXPECT_NEAR(three.settings.bucket / 100_MiB, 1.0 / 3, 1e-6);
  EXPECT_EQ(three.settings.first_bucket, three.settings.bucket);
}

TEST(FrameworkChoice, LetsWhatIsSaidByHandWinAndSaysSo) {
  Asked asked;
  asked.typed.cycle = 2.0_ms;
  asked.typed.launch = Launch::eager;
  EXPECT_FALSE(asked.values("horovod 0.21").cycle);
  EXPECT_THAT(asked.notes("horovod 0.21"), HasSubstr("by hand: --cycle in place of fusion_cycle"));

  Asked other;
  other.typed.schedules = {{Schedule::wait_free}};
  const TrainingValues settled = other.values("horovod 0.21");
  EXPECT_FALSE(settled.cycle);
  EXPECT_THAT(other.notes("horovod 0.21"),
              AllOf(HasSubstr("--schedule in place of schedule horovod"),
                    HasSubstr("fusion_threshold 128 MiB, which changes nothing under wait_free"),
                    HasSubstr("negotiation per_tensor, of which wait_free has no term")));
  // A schedule of another framework, whose servers are kept.
  EXPECT_EQ(run_of(other.values("byteps")).synchronisation, Synchronisation::parameter_server);
  other.typed.synchronisations = {{Synchronisation::all_reduce}};
  EXPECT_THAT(other.notes("byteps"),
              HasSubstr("--synchronisation in place of gradients parameter_server"));
}

TEST(FrameworkChoice, SaysWhatTheModelCannotFollowAndWhatIsNotKnown) {
  Asked asked;
  EXPECT_THAT(asked.notes("bytescheduler"), HasSubstr("so as usual: gradients"));
  EXPECT_THAT(asked.notes("mxnet_0.10"), AllOf(HasSubstr("every rank is taken to update all"),
                                               HasSubstr("copies in a node and ps_lite between")));
  asked.cluster.nccl.reset();
  EXPECT_THAT(asked.notes("pytorch_ddp"), HasSubstr("whose costs cluster dgx_h100 does not"));
  asked.question.fitted = true;
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
  EXPECT_THAT(why("horovod 0.14"),
              AllOf(HasSubstr("horovod_0.19 (Horovod before 0.21"), HasSubstr("Name one of them")));
  EXPECT_THAT(why("tf_cnn_benchmarks"), HasSubstr("tf_cnn_benchmarks_replicated_nccl"));
  EXPECT_THAT(why("pytroch"), HasSubstr("Did you mean \"pytorch_ddp\"?"));
  EXPECT_THAT(why("horovd"), HasSubstr("Did you mean \"horovod"));
  EXPECT_THAT(why("keras"), HasSubstr("is not a profile in configs/frameworks"));
  EXPECT_THAT(why(""), HasSubstr("is not a profile"));
}

TEST(TrainingValues, AreTheUpperOnesWhereBothHaveAValue) {
  const TrainingValues usual{.schedules = {{Schedule::wait_free}}, .credit = 4};
  const TrainingValues profile{.schedules = {{Schedule::priority}}, .cycle = 1.0_ms};
  const TrainingValues typed{.cycle = 2.0_ms};
  const TrainingValues values = overlay(overlay(usual, profile), typed);
  EXPECT_EQ(values.schedules, std::vector{Schedule::priority});
  EXPECT_EQ(values.cycle, 2.0_ms);
  EXPECT_EQ(values.credit, 4);
  EXPECT_FALSE(values.launch);
}

}  // namespace
}  // namespace dlscale::app
