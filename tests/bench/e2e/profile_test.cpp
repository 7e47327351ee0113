#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "backend/comm/together.hpp"
#include "bench/e2e/profile_file.hpp"
#include "core/base/error.hpp"
#include "core/results/communication_profile.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/e2e/setting.hpp"

namespace dlscale::bench {
extern const Benchmark e2e;

namespace {

using testing::HasSubstr;
using Values = std::map<std::string, std::string>;

class Profile : public testing::Test {
 protected:
  /// Trains and reads what was written of it. Every rank's row is as without a profile.
  [[nodiscard]] std::vector<CommunicationProfile> profile_of(int ranks, Values more = {}) const {
    more.try_emplace("data", setting_.path("data").string());
    more.try_emplace("iterations", "4");
    more.try_emplace("warmup", "2");
    more["profile"] = path();
    for (const Measurement& m : measure_on(ranks, e2e, setting_.values(more))) {
      EXPECT_TRUE(m.status == Status::ok || m.status == Status::unstable) << m.reason;
      EXPECT_EQ(m.at("t_iter").samples.front().size(), 4U);
    }
    const ResultFile file = read_results(path());
    EXPECT_TRUE(file.complete);
    EXPECT_FALSE(file.header.command.empty());
    EXPECT_EQ(file.header.run.at("ranks"), std::to_string(ranks));
    EXPECT_EQ(file.header.environment.libraries.at("communicator"), "local");
    return read_profiles(file);
  }

  [[nodiscard]] std::string path() const { return setting_.path("profile.jsonl").string(); }

  [[nodiscard]] std::string refused(int ranks, const Values& more) const {
    auto group = backend::local_group(ranks);
    Context context = context_for(e2e, setting_.values(more), *group.front());
    return test::config_error([&] { std::ignore = e2e.cells(context); });
  }

  Setting setting_;
};

std::int64_t bytes_of(const CommunicationProfile& profile) {
  std::int64_t sum = 0;
  for (const auto& iteration : profile.iterations) {
    for (const ProfiledMessage& message : iteration) sum += message.bytes;
  }
  return sum;
}

TEST_F(Profile, HoldsEveryMessageOfEveryMeasuredIteration) {
  // Of f32: tensors begin at multiples of 32 elements in what is sent.
  constexpr std::int64_t convolution = std::int64_t{4} * (128 + 4);  // 4 × 27 weights, 4 biases
  constexpr std::int64_t classifier = std::int64_t{4} * (608 + 3);   // 3 × 196 weights, 3 biases
  constexpr std::int64_t both = std::int64_t{4} * 640 + convolution;
  for (const int ranks : {2, 3}) {
    for (const auto& [schedule, messages, bytes] :
         {std::tuple{"sequential", 2U, classifier + convolution},
          std::tuple{"wait_free", 2U, classifier + convolution},
          std::tuple{"bucketed", 1U, both}}) {
      const auto profiles = profile_of(ranks, {{"schedule", schedule}});
      ASSERT_EQ(profiles.size(), 1U);
      const CommunicationProfile& profile = profiles.front();
      ASSERT_EQ(profile.iterations.size(), 4U) << schedule;
      EXPECT_EQ(profile.ranks(), static_cast<std::size_t>(ranks));
      EXPECT_EQ(profile.axes.at("schedule"), schedule);
      EXPECT_EQ(profile.axes.at("input_copy"), "on_path");
      EXPECT_EQ(profile.library, "local");
      for (const auto& iteration : profile.iterations) {
        EXPECT_EQ(iteration.size(), messages) << schedule;
        for (const ProfiledMessage& message : iteration) {
          EXPECT_EQ(message.collective, "all_reduce");
        }
      }
      EXPECT_EQ(bytes_of(profile), 4 * bytes) << schedule;
    }
  }
}

TEST_F(Profile, TellsRootsAndWhatTravelsAtOnce) {
  const auto served = profile_of(3, {{"synchronisation", "parameter_server"}, {"servers", "2"}});
  std::set<std::pair<std::string, Rank>> roots;
  for (const ProfiledMessage& message : served.at(0).iterations.at(0)) {
    EXPECT_EQ(message.under_way, 0U);
    ASSERT_TRUE(message.root.has_value());
    roots.emplace(message.collective, *message.root);
  }
  EXPECT_EQ(roots, (std::set<std::pair<std::string, Rank>>{
                       {"reduce", 0}, {"reduce", 1}, {"broadcast", 0}, {"broadcast", 1}}));
  const auto parts =
      profile_of(2, {{"schedule", "priority"}, {"partition", "256 B"}, {"credit", "3"}});
  std::set<std::size_t> under_way;
  for (const auto& iteration : parts.at(0).iterations) {
    for (const ProfiledMessage& message : iteration) {
      EXPECT_FALSE(message.root.has_value());
      under_way.insert(message.under_way);
    }
  }
  // How many are depends on how soon each is done; never more than credit lets begin.
  EXPECT_TRUE(under_way.contains(0));
  EXPECT_LT(*under_way.rbegin(), 3U);
}

TEST_F(Profile, HandsMessagesOverWhileLayersStillComputeOnlyWhereTheScheduleSaysSo) {
  const auto handed_over = [this](const char* schedule) {
    const auto profiles = profile_of(2, {{"schedule", schedule}});
    const auto& messages = profiles.at(0).iterations.at(0);
    return std::pair{messages.at(0).posted.at(0), messages.at(1).posted.at(0)};
  };
  const auto [first, second] = handed_over("wait_free");
  EXPECT_LT(first, second);
  const auto [once, all] = handed_over("sequential");
  EXPECT_EQ(once, all);
}

TEST_F(Profile, HoldsSeveralRunsOfOneCommand) {
  auto group = backend::local_group(2);
  {
    std::vector<std::jthread> threads;
    threads.reserve(group.size());
    for (auto& communicator : group) {
      threads.emplace_back([&] {
        Context context = context_for(e2e,
                                      setting_.values({{"data", setting_.path("data").string()},
                                                       {"iterations", "2"},
                                                       {"warmup", "0"},
                                                       {"schedule", "wait_free,bucketed"},
                                                       {"profile", path()}}),
                                      *communicator);
        const Sampler sampler(*communicator, {});
        for (const Cell& cell : e2e.cells(context)) std::ignore = cell.measure(sampler);
      });
    }
  }
  const auto profiles = read_profiles(read_results(path()));
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(profiles[0].axes.at("schedule"), "bucketed");
  EXPECT_EQ(profiles[1].iterations.size(), 2U);
}

TEST_F(Profile, IsRefusedWhereItWouldBeEmptyOrCannotBeWritten) {
  EXPECT_THAT(refused(1, {{"profile", "p.jsonl"}}), HasSubstr("1 rank sends nothing"));
  EXPECT_THAT(refused(2, {{"profile", "-"}}), HasSubstr("--profile is -"));
  const Values nowhere{{"data", setting_.path("data").string()},
                       {"profile", "/proc/nowhere/profile.jsonl"}};
  try {
    std::ignore = measure_on(2, e2e, setting_.values(nowhere));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const backend::FoundByAll& error) {  // which one of the ranks says for all
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    EXPECT_THAT(error.what(), HasSubstr("results cannot be written to /proc/nowhere"));
    EXPECT_THAT(error.what(), HasSubstr("Choose a place you may write with --profile."));
  }
}

CommunicationProfile made() {
  CommunicationProfile profile;
  profile.axes["schedule"] = "wait_free";
  const ProfiledMessage message{.collective = "all_reduce",
                                .bytes = 4,
                                .posted = {Seconds(0)},
                                .wait = {Seconds(0)},
                                .time = {Seconds(1)}};
  profile.iterations.push_back({message});
  return profile;
}

TEST_F(Profile, DoesNotMixRepetitions) {
  {
    ProfileFile file(path(), {});
    file.open({});
    file.write(made());
    EXPECT_THROW(file.write(made()), ConfigError);
  }
  EXPECT_EQ(read_profiles(read_results(path())).size(), 1U);
}

TEST_F(Profile, LeavesNoFileThatNothingWasWrittenTo) {
  { const ProfileFile file(path(), {}); }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

using SentIterations = std::vector<std::vector<train::SentMessage>>;

TEST(GatherProfile, JoinsWhatEveryRankRecorded) {
  backend::run_on_threads(3, [](backend::Communicator& ranks) {
    const auto shift = static_cast<double>(ranks.rank());
    const train::SentMessage mine{.kind = backend::Collective::reduce_scatter,
                                  .bytes = 24,
                                  .root = 2,
                                  .under_way = static_cast<std::size_t>(ranks.rank()),
                                  .posted = Seconds(1 + shift),
                                  .wait = Seconds(2 + shift),
                                  .time = Seconds(3 + shift)};
    SentIterations iterations(1);
    iterations.front().push_back(mine);
    const auto profile = gather_profile(ranks, iterations);
    ASSERT_TRUE(profile.has_value());
    const ProfiledMessage& message = profile->iterations.at(0).at(0);
    EXPECT_EQ(message.collective, "reduce_scatter");
    EXPECT_EQ(message.bytes, 24);
    EXPECT_EQ(message.root, 2);
    EXPECT_EQ(message.under_way, 2U);  // the most on any rank
    EXPECT_EQ(message.posted, (std::vector{Seconds(1), Seconds(2), Seconds(3)}));
    EXPECT_EQ(message.wait, (std::vector{Seconds(2), Seconds(3), Seconds(4)}));
    EXPECT_EQ(message.time, (std::vector{Seconds(3), Seconds(4), Seconds(5)}));
  });
}

TEST(GatherProfile, IsNoneOfNothing) {
  backend::run_on_threads(2, [](backend::Communicator& ranks) {
    EXPECT_FALSE(gather_profile(ranks, SentIterations()).has_value());
    EXPECT_FALSE(gather_profile(ranks, SentIterations(2)).has_value());
  });
}

TEST(GatherProfile, OfRanksThatSentDifferentMessagesIsABug) {
  backend::run_on_threads(2, [](backend::Communicator& ranks) {
    train::SentMessage message;
    message.bytes = ranks.rank() == 0 ? 4 : 8;
    SentIterations iterations(1);
    iterations.front().push_back(message);
    EXPECT_THROW(std::ignore = gather_profile(ranks, iterations), std::logic_error);
  });
}

}  // namespace
}  // namespace dlscale::bench
