#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "backend/comm/watchdog/watchdog.hpp"
#include "backend/comm/watchdog/line.hpp"
#include "backend/comm/watchdog/roster.hpp"
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

Card card_on(std::string_view host) {
  Card card;
  std::ranges::copy(host, card.host.begin());
  return card;
}

TEST(Roster, NamesTheRanksOfEachNode) {
  EXPECT_EQ(ranks_by_host({card_on("n1")}), "n1: 0");
  EXPECT_EQ(ranks_by_host({card_on("n1"), card_on("n1"), card_on("n2"), card_on("n1")}),
            "n1: 0-1, 3, n2: 2");
}

/// Two programs of one job may be built with different standard libraries.
TEST(Roster, TellsNodesByANumberThatNoLibraryChooses) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/net");
  EXPECT_EQ(own_card().node, fnv1a(boot + ' ' + space.string()));
}

TEST(Door, LetsInRanksThatKnowTheToken) {
  Door door(3);
  const std::optional<Line> local = call_local(door.invitation(), 1);
  const std::optional<Line> tcp = call_tcp(door.invitation(), 2, long_enough);
  ASSERT_TRUE(local && tcp);
  std::array<bool, 3> came{};
  for (int guest = 0; guest < 2; ++guest) {
    const auto next = door.next(long_enough);
    ASSERT_TRUE(next.has_value());
    came.at(static_cast<std::size_t>(next->first)) = true;
    EXPECT_EQ(next->second.kind(), next->first == 1 ? Line::Kind::local : Line::Kind::tcp);
  }
  EXPECT_TRUE(came[1] && came[2]);
}

TEST(Door, TurnsStrangersAway) {
  Door door(2);
  Invitation guessed = door.invitation();
  ++guessed.token;
  const std::optional<Line> stranger = call_tcp(guessed, 1, long_enough);
  ASSERT_TRUE(stranger.has_value());
  EXPECT_FALSE(door.next(Seconds(0.2)).has_value());
}

TEST(Door, WaitsForNobodyForEver) {
  Door door(2);
  EXPECT_FALSE(door.next(at_once).has_value());
}

TEST(Call, FindsNobodyWhereNoDoorIs) {
  Invitation invitation;
  {
    const Door door(2);
    invitation = door.invitation();
  }
  EXPECT_FALSE(call_local(invitation, 1).has_value());
  EXPECT_FALSE(call_tcp(invitation, 1, long_enough).has_value());
}

struct Pair {
  Line ours;
  Descriptor theirs;
};

Pair connected_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  return {Line(Descriptor(ends[0]), Line::Kind::local), Descriptor(ends[1])};
}

TEST(Line, PutsNewsTogetherFromPieces) {
  Pair pair = connected_pair();
  const std::array<News, 2> sent{News{7, 3, Fate::died}, News{7, 4, Fate::done}};
  const auto bytes = std::as_bytes(std::span(sent));
  ASSERT_EQ(send(pair.theirs.get(), bytes.data(), 5, 0), 5);
  EXPECT_TRUE(pair.ours.receive().empty());
  const std::size_t rest = bytes.size() - 5;
  ASSERT_EQ(send(pair.theirs.get(), bytes.data() + 5, rest, 0), static_cast<ssize_t>(rest));
  const std::vector<News> news = pair.ours.receive();
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].rank, 3);
  EXPECT_EQ(news[1].fate, Fate::done);
  EXPECT_FALSE(pair.ours.ended());
}

TEST(Line, HearsTheLastWordsAndThenTheEnd) {
  Pair pair = connected_pair();
  const News last{7, 1, Fate::failed};
  ASSERT_EQ(send(pair.theirs.get(), &last, sizeof(last), 0), static_cast<ssize_t>(sizeof(last)));
  pair.theirs = Descriptor();
  EXPECT_EQ(pair.ours.receive().size(), 1U);
  EXPECT_TRUE(pair.ours.ended());
}

TEST(Line, SendsToADeadRankWithoutHarm) {
  Pair pair = connected_pair();
  pair.theirs = Descriptor();
  pair.ours.send({7, 1, Fate::well});
  EXPECT_TRUE(pair.ours.receive().empty());
  EXPECT_TRUE(pair.ours.ended());
}

TEST(ReporterClaim, GoesToTheFirstOnly) {
  const Door door(2);
  const std::uint64_t token = door.invitation().token;
  ReporterClaim first;
  ReporterClaim second;
  EXPECT_TRUE(first.take(token));
  EXPECT_FALSE(second.take(token));
}

Roster two_ranks() {
  Roster roster(2);
  for (Card& card : roster) {
    card.process = 4710 + (&card - roster.data());
    card.host = {'n', '2'};
  }
  return roster;
}

TEST(Notice, NamesRankProcessNodeAndResults) {
  const std::string text = notice(two_ranks(), 1, Fate::died, long_enough, "results/a.jsonl");
  EXPECT_THAT(text, HasSubstr("rank 1 (process 4711 on node n2) died"));
  EXPECT_THAT(text, HasSubstr("kept in results/a.jsonl."));
  EXPECT_THAT(text, HasSubstr("dmesg"));
}

TEST(Notice, TellsSilenceAndFailureFromDeath) {
  EXPECT_THAT(notice(two_ranks(), 0, Fate::silent, Seconds(15), ""),
              HasSubstr("has not been heard of for 15 s"));
  const std::string failed = notice(two_ranks(), 0, Fate::failed, long_enough, "");
  EXPECT_THAT(failed, HasSubstr("the error it printed"));
  EXPECT_THAT(failed, Not(HasSubstr("kept in")));
}

/// Nothing can be said of a rank or in words that there are not.
TEST(News, IsOfARankAndAFateThatThereAre) {
  EXPECT_TRUE(is_possible({7, 0, Fate::well}, 2));
  EXPECT_TRUE(is_possible({7, 1, Fate::silent}, 2));
  EXPECT_FALSE(is_possible({7, 2, Fate::failed}, 2));
  EXPECT_FALSE(is_possible({7, -1, Fate::failed}, 2));
  EXPECT_FALSE(is_possible({7, 1, static_cast<Fate>(7)}, 2));
  EXPECT_FALSE(is_possible({7, 1, static_cast<Fate>(0xffffffffU)}, 2));
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
