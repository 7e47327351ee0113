#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "backend/comm/watchdog/watchdog.hpp"
#include "backend/comm/watchdog/channel.hpp"
#include "backend/comm/watchdog/rank_table.hpp"
#include "backend/comm/watchdog/watch.hpp"
#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"
#include "tests/backend/comm/groups.hpp"

namespace dlscale::backend {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Seconds at_once{0.0};
constexpr Seconds long_enough{10.0};

RankInfo card_on(std::string_view host) {
  RankInfo info;
  std::ranges::copy(host, info.host.begin());
  return info;
}

TEST(RankTable, NamesTheRanksOfEachNode) {
  EXPECT_EQ(ranks_by_host({card_on("n1")}), "n1: 0");
  EXPECT_EQ(ranks_by_host({card_on("n1"), card_on("n1"), card_on("n2"), card_on("n1")}),
            "n1: 0-1, 3, n2: 2");
}

/// Two programs of one job may be built with different standard libraries.
TEST(RankTable, TellsNodesByANumberThatNoLibraryChooses) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/net");
  EXPECT_EQ(own_rank_info().node, fnv1a(boot + ' ' + space.string()));
}

TEST(Listener, LetsInRanksThatKnowTheToken) {
  Listener listener(3, Reach::network);
  const std::optional<Channel> local = call_local(listener.address(), 1);
  const std::optional<Channel> tcp = call_tcp(listener.address(), 2, long_enough);
  ASSERT_TRUE(local && tcp);
  std::array<bool, 3> came{};
  for (int guest = 0; guest < 2; ++guest) {
    const auto next = listener.next(long_enough);
    ASSERT_TRUE(next.has_value());
    came.at(static_cast<std::size_t>(next->first)) = true;
    EXPECT_EQ(next->second.kind(), next->first == 1 ? Channel::Kind::local : Channel::Kind::tcp);
  }
  EXPECT_TRUE(came[1] && came[2]);
}

TEST(Listener, TurnsStrangersAway) {
  Listener listener(2, Reach::network);
  ListenerAddress guessed = listener.address();
  ++guessed.token;
  const std::optional<Channel> stranger = call_tcp(guessed, 1, long_enough);
  ASSERT_TRUE(stranger.has_value());
  EXPECT_FALSE(listener.next(Seconds(0.2)).has_value());
}

/// Addresses that listen at a port, as /proc/net/tcp and tcp6 write them.
std::vector<std::string> listening_at(std::uint16_t port) {
  const std::string end = fmt::format(":{:04X}", port);
  std::vector<std::string> found;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string number;
    std::string local;
    std::string rest;
    while (file >> number >> local && std::getline(file, rest)) {
      const bool listens = rest.find(" 0A ") != std::string::npos;
      if (listens && local.ends_with(end)) found.push_back(local.substr(0, local.find(':')));
    }
  }
  return found;
}

TEST(Listener, OfOneNodeIsReachedFromNoOther) {
  const Listener listener(2, Reach::this_node);
  const std::vector<std::string> loopback{"0100007F"};
  EXPECT_EQ(listening_at(listener.address().port), loopback);
  EXPECT_TRUE(call_tcp(listener.address(), 1, long_enough).has_value());
}

/// Addresses at which rank 0 of several nodes says it can be reached, where the launcher says this.
std::vector<std::string> reached_at(const std::string& said) {
  ::setenv("OMPI_MCA_orte_hnp_uri", said.c_str(), 1);
  const Listener listener(2, Reach::network);
  ::unsetenv("OMPI_MCA_orte_hnp_uri");
  EXPECT_TRUE(call_tcp(listener.address(), 1, long_enough).has_value()) << said;
  EXPECT_EQ(listening_at(listener.address().port).size(), 1U) << said;
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < listener.address().address_count; ++i) {
    addresses.emplace_back(listener.address().addresses.at(i).data());
  }
  return addresses;
}

TEST(Listener, OfSeveralNodesIsWhereTheLauncherIs) {
  const std::vector<std::string> all = reached_at("");
  const std::string& ours = all.front();
  for (const std::string said : {"1234.0;tcp://127.0.0.1:5555", "1127.0.0.1", "nowhere:1"}) {
    EXPECT_EQ(reached_at(said), all) << said;
  }
  if (ours == "127.0.0.1") GTEST_SKIP() << "this machine has loopback alone";
  for (const std::string& said : {"1234.0;tcp://" + ours + ":5555", ours, ours + ":4321"}) {
    EXPECT_EQ(reached_at(said), std::vector<std::string>{ours}) << said;
  }
  EXPECT_EQ(reached_at("tcp://" + ours + "9:5555"), all);
}

TEST(Listener, WaitsForNobodyForEver) {
  Listener listener(2, Reach::network);
  EXPECT_FALSE(listener.next(at_once).has_value());
}

TEST(Call, FindsNobodyWhereNoDoorIs) {
  ListenerAddress address;
  {
    const Listener listener(2, Reach::network);
    address = listener.address();
  }
  EXPECT_FALSE(call_local(address, 1).has_value());
  EXPECT_FALSE(call_tcp(address, 1, long_enough).has_value());
}

struct Pair {
  Channel ours;
  Descriptor theirs;
};

Pair connected_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  return {Channel(Descriptor(ends[0]), Channel::Kind::local), Descriptor(ends[1])};
}

TEST(Channel, PutsNewsTogetherFromPieces) {
  Pair pair = connected_pair();
  const std::array<StatusMessage, 2> sent{StatusMessage{7, 3, RankState::died}, StatusMessage{7, 4, RankState::done}};
  const auto bytes = std::as_bytes(std::span(sent));
  ASSERT_EQ(send(pair.theirs.get(), bytes.data(), 5, 0), 5);
  EXPECT_TRUE(pair.ours.receive().empty());
  const std::size_t rest = bytes.size() - 5;
  ASSERT_EQ(send(pair.theirs.get(), bytes.data() + 5, rest, 0), static_cast<ssize_t>(rest));
  const std::vector<StatusMessage> message = pair.ours.receive();
  ASSERT_EQ(message.size(), 2U);
  EXPECT_EQ(message[0].rank, 3);
  EXPECT_EQ(message[1].state, RankState::done);
  EXPECT_FALSE(pair.ours.ended());
}

TEST(Channel, HearsTheLastWordsAndThenTheEnd) {
  Pair pair = connected_pair();
  const StatusMessage last{7, 1, RankState::failed};
  ASSERT_EQ(send(pair.theirs.get(), &last, sizeof(last), 0), static_cast<ssize_t>(sizeof(last)));
  pair.theirs = Descriptor();
  EXPECT_EQ(pair.ours.receive().size(), 1U);
  EXPECT_TRUE(pair.ours.ended());
}

TEST(Channel, SendsToADeadRankWithoutHarm) {
  Pair pair = connected_pair();
  pair.theirs = Descriptor();
  pair.ours.send({7, 1, RankState::well});
  EXPECT_TRUE(pair.ours.receive().empty());
  EXPECT_TRUE(pair.ours.ended());
}

TEST(ReporterClaim, GoesToTheFirstOnly) {
  const Listener listener(2, Reach::network);
  const std::uint64_t token = listener.address().token;
  ReporterClaim first;
  ReporterClaim second;
  EXPECT_TRUE(first.take(token));
  EXPECT_FALSE(second.take(token));
}

RankTable two_ranks() {
  RankTable rank_table(2);
  for (RankInfo& info : rank_table) {
    info.process = 4710 + (&info - rank_table.data());
    info.host = {'n', '2'};
  }
  return rank_table;
}

TEST(Notice, NamesRankProcessNodeAndResults) {
  const std::string text = notice(two_ranks(), 1, RankState::died, long_enough, "results/a.jsonl");
  EXPECT_THAT(text, HasSubstr("rank 1 (process 4711 on node n2) died"));
  EXPECT_THAT(text, HasSubstr("kept in results/a.jsonl."));
  EXPECT_THAT(text, HasSubstr("dmesg"));
}

TEST(Notice, TellsSilenceAndFailureFromDeath) {
  EXPECT_THAT(notice(two_ranks(), 0, RankState::silent, Seconds(15), ""),
              HasSubstr("has not been heard of for 15 s"));
  const std::string failed = notice(two_ranks(), 0, RankState::failed, long_enough, "");
  EXPECT_THAT(failed, HasSubstr("the error it printed"));
  EXPECT_THAT(failed, Not(HasSubstr("kept in")));
}

/// Nothing can be said of a rank or in words that there are not.
TEST(StatusMessage, IsOfARankAndAFateThatThereAre) {
  EXPECT_TRUE(is_possible({7, 0, RankState::well}, 2));
  EXPECT_TRUE(is_possible({7, 1, RankState::silent}, 2));
  EXPECT_FALSE(is_possible({7, 2, RankState::failed}, 2));
  EXPECT_FALSE(is_possible({7, -1, RankState::failed}, 2));
  EXPECT_FALSE(is_possible({7, 1, static_cast<RankState>(7)}, 2));
  EXPECT_FALSE(is_possible({7, 1, static_cast<RankState>(0xffffffffU)}, 2));
}

/// As long as it lives, this process can open no further file.
class NoFurtherFiles {
 public:
  NoFurtherFiles() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoFurtherFiles() { (void)setrlimit(RLIMIT_NOFILE, &before_); }
  NoFurtherFiles(const NoFurtherFiles&) = delete;
  NoFurtherFiles& operator=(const NoFurtherFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(Watch, SaysThatThereAreTooManyOpenFiles) {
  const NoFurtherFiles full;
  try {
    const Watch watch({two_ranks(), 0, 7, "", {}}, {});
    FAIL() << "it needs a descriptor";
  } catch (const LibraryError& error) {
    EXPECT_THAT(error.what(), HasSubstr("eventfd failed for the watchdog of the ranks"));
    EXPECT_THAT(error.what(), HasSubstr("Too many open files"));
  }
}

/// In one process: what counts is that everybody leaves, and the thread sanitizer's opinion.
TEST(Watchdog, LetsRanksLeaveInGoodOrder) {
  for (const auto link : {WatchdogOptions::Link::automatic, WatchdogOptions::Link::tcp}) {
    run_on_threads(4, [&](Communicator& ranks) {
      WatchdogOptions options;
      options.link = link;
      options.heartbeat = Seconds(0.01);
      Watchdog watchdog(ranks, "", options);
      for (int round = 0; round < 50; ++round) ranks.barrier();
      watchdog.dismiss();
    });
  }
}

TEST(Watchdog, HasNothingToDoForASingleRank) {
  run_on_threads(1, [](Communicator& ranks) {
    Watchdog watchdog(ranks, "");
    watchdog.dismiss();
    watchdog.dismiss();
  });
}

}  // namespace
}  // namespace dlscale::backend
