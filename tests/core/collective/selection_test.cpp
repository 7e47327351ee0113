#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective/schedule.hpp"
#include "core/collective/selection/open_mpi_table.hpp"
#include "core/collective/selection/parameter_servers.hpp"
#include "core/collective/selection/selection.hpp"
#include "tests/core/collective/executor.hpp"

namespace dlscale::collective {
namespace {

constexpr Bytes selection_element(4);

TEST(OpenMpi, TakesWhatItsRulesSay) {
  const auto name = [](Collective collective, int p, double bytes) {
    return open_mpi_fixed(collective, p, Bytes(bytes)).name;
  };
  EXPECT_EQ(name(Collective::all_reduce, 2, 4), "ring");
  EXPECT_EQ(name(Collective::all_reduce, 2, 8), "recursive_doubling");
  EXPECT_EQ(name(Collective::all_reduce, 3, 4095), "recursive_doubling");
  EXPECT_EQ(name(Collective::all_reduce, 3, 4096), "ring");
  EXPECT_EQ(name(Collective::all_reduce, 4, 1e8), "rabenseifner");
  EXPECT_EQ(name(Collective::all_reduce, 10000, 1e8), "rabenseifner");
  EXPECT_EQ(name(Collective::broadcast, 8, 1e6), "basic_linear");
  EXPECT_EQ(name(Collective::broadcast, 16, 1048576), "scatter_allgather");
  EXPECT_EQ(name(Collective::reduce, 32, 1e9), "binomial");
  EXPECT_EQ(name(Collective::reduce_scatter, 8, 262143), "recursive_halving");
  EXPECT_EQ(name(Collective::reduce_scatter, 8, 262144), "ring");
  // What a rank contributes, and what it sends to one other.
  EXPECT_EQ(name(Collective::all_gather, 32, 32 * 1023.0), "recursive_doubling");
  EXPECT_EQ(name(Collective::all_gather, 32, 32 * 1024.0), "neighbor");
  EXPECT_EQ(name(Collective::all_to_all, 16, 16 * 511.0), "modified_bruck");
  EXPECT_EQ(name(Collective::all_to_all, 16, 16 * 512.0), "linear_sync");
}

TEST(OpenMpi, NamesTheSameAlgorithmInTheFamily) {
  const auto ours = [](Collective collective, int p, double bytes) -> std::string_view {
    const Algorithm* algorithm = open_mpi_fixed(collective, p, Bytes(bytes)).algorithm;
    return algorithm == nullptr ? "" : algorithm->name;
  };
  EXPECT_EQ(ours(Collective::all_reduce, 4, 1e8), "rabenseifner");
  EXPECT_EQ(ours(Collective::all_reduce, 128, 4), "");  // nonoverlapping
  EXPECT_EQ(ours(Collective::broadcast, 2, 4), "chain");
  EXPECT_EQ(ours(Collective::broadcast, 4, 2e6), "");  // several chains
  EXPECT_EQ(ours(Collective::broadcast, 8, 1e6), "linear");
  EXPECT_EQ(ours(Collective::broadcast, 128, 4), "binary_tree");
  EXPECT_EQ(ours(Collective::broadcast, 128, 65536), "knomial");
  EXPECT_EQ(ours(Collective::all_to_all, 16, 16 * 100.0), "bruck");
  EXPECT_EQ(ours(Collective::all_gather, 2, 1e6), "ring");
}

TEST(OpenMpi, HasRowsInOrderForAllRanksAndSizes) {
  for (const Collective collective : collectives) {
    const auto rows = open_mpi_rows(collective);
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows[0].ranks, 0);
    EXPECT_EQ(rows[0].bytes, 0);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const bool same_ranks = rows[i].ranks == rows[i - 1].ranks;
      EXPECT_TRUE(same_ranks ? rows[i].bytes > rows[i - 1].bytes
                             : rows[i].ranks > rows[i - 1].ranks && rows[i].bytes == 0)
          << to_string(collective) << ", row " << i;
    }
  }
}

/// A line without its end, which is that of Windows in the tables.
bool read_line(std::istream& file, std::string& line) {
  if (!std::getline(file, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

TEST(OpenMpi, AgreesWithTheTableOfItsRules) {
  const std::map<std::string, Collective> theirs{{"allreduce", Collective::all_reduce},
                                                 {"reduce", Collective::reduce},
                                                 {"bcast", Collective::broadcast},
                                                 {"allgather", Collective::all_gather},
                                                 {"reduce_scatter", Collective::reduce_scatter},
                                                 {"alltoall", Collective::all_to_all}};
  std::ifstream file(DLSCALE_SOURCE_DIR "/tests/data/open_mpi_fixed.csv");
  std::string line;
  do {
    ASSERT_TRUE(read_line(file, line));
  } while (line.starts_with('#'));
  ASSERT_EQ(line, "collective,p_min,p_max_excl,bytes_min,bytes_max_excl,alg_id,alg");
  int rows = 0;
  while (read_line(file, line)) {
    const std::vector<std::string> words = split(line);
    ASSERT_EQ(words.size(), 7U) << line;
    const Collective collective = theirs.at(words[0]);
    const bool per_rank =
        collective == Collective::all_gather || collective == Collective::all_to_all;
    const int first = std::max(1, std::stoi(words[1]));
    const int last = words[2] == "inf" ? 2 * first : std::stoi(words[2]) - 1;
    const double least = std::stod(words[3]);
    const double most = words[4] == "inf" ? 2 * least + 1 : std::stod(words[4]) - 1;
    for (const int p : {first, last}) {
      for (const double bytes : {least, most}) {
        const Bytes m(per_rank ? bytes * p : bytes);
        EXPECT_EQ(open_mpi_fixed(collective, p, m).name, words[6]) << line;
      }
    }
    ++rows;
  }
  EXPECT_EQ(rows, 259);
}

TEST(Mpich, TakesWhatItsDefaultsSay) {
  const auto name = [](Collective collective, int p, double bytes) {
    return mpich(collective, p, Bytes(bytes), selection_element).name;
  };
  EXPECT_EQ(name(Collective::all_reduce, 8, 2048), "recursive_doubling");
  EXPECT_EQ(name(Collective::all_reduce, 8, 2052), "rabenseifner");
  EXPECT_EQ(name(Collective::all_reduce, 1024, 4092), "recursive_doubling");  // 1023 elements
  EXPECT_EQ(name(Collective::all_reduce, 1024, 4096), "rabenseifner");
  EXPECT_EQ(name(Collective::reduce, 8, 2048), "binomial");
  EXPECT_EQ(name(Collective::reduce, 8, 2052), "rabenseifner");
  EXPECT_EQ(name(Collective::broadcast, 7, 1e9), "binomial");
  EXPECT_EQ(name(Collective::broadcast, 8, 12287), "binomial");
  EXPECT_EQ(name(Collective::broadcast, 8, 12288), "scatter_doubling");
  EXPECT_EQ(name(Collective::broadcast, 9, 12288), "scatter_ring");
  EXPECT_EQ(name(Collective::broadcast, 8, 524288), "scatter_ring");
  EXPECT_EQ(name(Collective::all_gather, 8, 524287), "recursive_doubling");
  EXPECT_EQ(name(Collective::all_gather, 8, 524288), "ring");
  EXPECT_EQ(name(Collective::all_gather, 9, 81919), "bruck");
  EXPECT_EQ(name(Collective::all_gather, 9, 81920), "ring");
  EXPECT_EQ(name(Collective::reduce_scatter, 9, 524287), "recursive_halving");
  EXPECT_EQ(name(Collective::reduce_scatter, 9, 524288), "pairwise");
  EXPECT_EQ(name(Collective::all_to_all, 8, 8 * 256.0), "bruck");
  EXPECT_EQ(name(Collective::all_to_all, 7, 7 * 256.0), "scattered");
  EXPECT_EQ(name(Collective::all_to_all, 8, 8 * 257.0), "scattered");
  EXPECT_EQ(name(Collective::all_to_all, 8, 8 * 32769.0), "pairwise");
}

TEST(Mpich, TakesOnlyAlgorithmsOfTheFamily) {
  for (const Collective collective : collectives) {
    for (const int p : {1, 2, 7, 8, 9, 64}) {
      for (const double bytes : {0.0, 100.0, 1e4, 1e5, 1e6}) {
        EXPECT_NE(mpich(collective, p, Bytes(bytes), selection_element).algorithm, nullptr);
      }
    }
  }
}

const Link link{Seconds(10e-6), SecondsPerByte(1e-10), SecondsPerByte(1e-11)};
const Link within{Seconds(2e-6), SecondsPerByte(4e-11), SecondsPerByte(1e-11)};

TEST(BestSegments, AreTheFastestOfAllWholeNumbers) {
  for (const Algorithm* algorithm : family<Algorithm>().members) {
    for (const double bytes : {4.0, 40.0, 1e5, 1e7}) {
      Settings settings{.p = 12, .ranks_on_node = 4, .servers = 3, .down_links = 4};
      const Bytes m(bytes);
      const int best = best_segments(*algorithm, {link, within}, settings, m, selection_element);
      const int most = std::min(300, static_cast<int>(m / selection_element));
      ASSERT_TRUE(best >= 1 && best <= most) << algorithm->name << ", " << bytes << " bytes";
      settings.segments = best;
      const Seconds time = algorithm->cost({link, within}, settings, m);
      for (int k = 1; k <= most; ++k) {
        settings.segments = k;
        EXPECT_LE(time.si(), algorithm->cost({link, within}, settings, m).si() * (1 + 1e-12))
            << algorithm->name << ", " << bytes << " bytes, " << k << " segments";
      }
    }
  }
}

TEST(BestSegments, AreOneWhereSegmentsDoNotPay) {
  const Algorithm* ring = find(Collective::all_reduce, "segmented_ring");
  EXPECT_EQ(best_segments(*ring, {link, link}, {.p = 8}, Bytes(1e8), selection_element), 1);
  const Algorithm* binomial = find(Collective::broadcast, "binomial");
  EXPECT_EQ(best_segments(*binomial, {link, link}, {.p = 8}, Bytes(1e8), selection_element), 1);
}

TEST(Fastest, IsTheOneOfLeastCost) {
  const auto name = [](int p, double bytes) {
    return fastest(algorithms_of(Collective::all_gather), {link, link}, {.p = p}, Bytes(bytes),
                   selection_element)
        .algorithm->name;
  };
  EXPECT_EQ(name(8, 100), "recursive_doubling");  // as fast as bruck, and before it
  EXPECT_EQ(name(12, 100), "bruck");
  const auto broadcasts = algorithms_of(Collective::broadcast);
  for (const double bytes : {1e2, 1e5, 1e8}) {
    const Settings settings{.p = 12, .ranks_on_node = 5};
    const Fastest best =
        fastest(broadcasts, {link, within}, settings, Bytes(bytes), selection_element);
    ASSERT_NE(best.algorithm, nullptr);
    EXPECT_FALSE(best.algorithm->traits.two_levels);  // 12 ranks are not whole nodes of 5
    for (const Algorithm* other : broadcasts) {
      if (other->traits.two_levels) continue;
      for (const int k : {1, 10, 25}) {
        Settings others = settings;
        others.segments = k;
        EXPECT_LE(best.time, other->cost({link, within}, others, Bytes(bytes)));
      }
    }
  }
}

TEST(Fastest, IsNoneAmongNone) {
  EXPECT_EQ(fastest({}, {link, link}, {.p = 2}, Bytes(8), selection_element).algorithm, nullptr);
}

TEST(Gloo, TakesOneAlgorithmForEverySize) {
  for (const int p : {1, 2, 7, 64}) {
    EXPECT_EQ(gloo(Collective::all_reduce, p).algorithm, find(Collective::all_reduce, "ring"));
    EXPECT_EQ(gloo(Collective::all_gather, p).algorithm, find(Collective::all_gather, "ring"));
    EXPECT_EQ(gloo(Collective::broadcast, p).algorithm, find(Collective::broadcast, "binomial"));
    EXPECT_EQ(gloo(Collective::all_to_all, p).algorithm, find(Collective::all_to_all, "pairwise"));
    EXPECT_EQ(gloo(Collective::reduce, p).algorithm, nullptr);
    EXPECT_EQ(gloo(Collective::reduce_scatter, p).algorithm, nullptr);
  }
}

TEST(HorovodHierarchical, IsIgnoredOnOneNode) {
  EXPECT_EQ(horovod_hierarchical(8, 8).name, "ring");
  EXPECT_EQ(horovod_hierarchical(16, 8).name, "hierarchical");
  EXPECT_EQ(horovod_hierarchical(2, 1).name, "hierarchical");
  EXPECT_NE(horovod_hierarchical(16, 8).algorithm, nullptr);
  EXPECT_NE(horovod_hierarchical(8, 8).algorithm, nullptr);
}

/// In elements of 4 B.
std::vector<double> elements_of(const std::vector<Bytes>& servers) {
  std::vector<double> elements;
  for (const Bytes server : servers) elements.push_back(server / selection_element);
  return elements;
}

TEST(MxnetServers, SplitArraysFromTheBoundOn) {
  const auto of_one = [](double elements, int servers) {
    return elements_of(
        mxnet_servers(std::vector{elements * selection_element}, selection_element, servers));
  };
  EXPECT_EQ(of_one(999'999, 2), (std::vector<double>{999'999, 0}));
  EXPECT_EQ(of_one(1'000'000, 2), (std::vector<double>{500'000, 500'000}));
  EXPECT_EQ(of_one(1'000'000, 3), (std::vector<double>{333'333, 333'334, 333'333}));
}

TEST(MxnetServers, PlaceSmallArraysByTheirKey) {
  // 9973 = 1 modulo 4: keys 0 … 5 go to servers 0, 1, 2, 3, 0, 1.
  const std::vector<Bytes> tensors{1 * selection_element,   10 * selection_element,
                                   100 * selection_element, 1e3 * selection_element,
                                   1e4 * selection_element, 1e5 * selection_element};
  EXPECT_EQ(elements_of(mxnet_servers(tensors, selection_element, 4)),
            (std::vector<double>{10'001, 100'010, 100, 1'000}));
  EXPECT_EQ(elements_of(mxnet_servers(tensors, selection_element, 1)),
            (std::vector<double>{111'111}));
  EXPECT_EQ(elements_of(mxnet_servers(tensors, selection_element, 2, 0)),
            (std::vector<double>{55'556, 55'555}));  // all halved; halves round up, to the first
}

TEST(TensorflowServers, TakeVariablesInTurnOrBySize) {
  const std::vector<Bytes> variables{8 * selection_element, 1 * selection_element,
                                     1 * selection_element, 4 * selection_element};
  EXPECT_EQ(elements_of(tensorflow_servers(variables, 2)), (std::vector<double>{9, 5}));
  EXPECT_EQ(elements_of(tensorflow_greedy_servers(variables, 2)), (std::vector<double>{8, 6}));
  EXPECT_EQ(elements_of(tensorflow_servers(variables, 8)),
            (std::vector<double>{8, 1, 1, 4, 0, 0, 0, 0}));
}

TEST(ServersOfEveryRule, KeepAllBytesAndAreAtMostAsUnevenAsOneForAll) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Bytes> tensors;
    double sum = 0;
    for (int i = 0; i < 20; ++i) {
      tensors.push_back((1 + static_cast<double>(random() % 3'000'000)) * selection_element);
      sum += tensors.back().si();
    }
    const int servers = 1 + trial % 9;
    for (const auto& kept :
         {servers_by(Sharding::mxnet, tensors, selection_element, servers),
          servers_by(Sharding::tensorflow, tensors, selection_element, servers),
          servers_by(Sharding::tensorflow_greedy, tensors, selection_element, servers),
          servers_by(Sharding::largest_first, tensors, selection_element, servers)}) {
      double total = 0;
      for (const Bytes server : kept) total += server.si();
      EXPECT_NEAR(total, sum, 1e-3);
      EXPECT_GE(imbalance(kept), 1 - 1e-12);
      EXPECT_LE(imbalance(kept), servers + 1e-12);
    }
  }
  EXPECT_DOUBLE_EQ(imbalance(std::vector{Bytes(1), Bytes(3)}), 1.5);
}

/// Schedules whose servers are put on their ranks.

using test::settings_of;
using test::text;

const Algorithm& parameter_server() {
  return *find(Collective::all_reduce, "parameter_server");
}

TEST(Colocation, LeavesTheRightResultWithEveryNodeOnARank) {
  for (int p = 1; p <= 9; ++p) {
    for (const Settings& settings : settings_of(parameter_server(), p)) {
      SCOPED_TRACE(text(settings));
      const Schedule schedule = colocated(parameter_server().schedule(settings));
      EXPECT_EQ(schedule.ranks, p);
      EXPECT_EQ(schedule.helpers, 0);
      test::expect_right_result(Collective::all_reduce, schedule, settings);
      if (HasFailure()) return;
    }
  }
}

TEST(Colocation, PutsServersOnRanksInTurnFromTheFirstOn) {
  // Rank 0 gives server 0 and server 4 a slot each; nodes 3 and 7 are on ranks 0 and 1.
  Schedule served{3, 2, {{{0, 3, 0, 1}, {0, 7, 1, 1}}, {{7, 2, 1, 1}}}};
  served.helpers = 5;
  const Schedule schedule = colocated(served);
  EXPECT_EQ(schedule.scratch, 2 * 2);
  const Transfer& own = schedule.rounds[0][0];
  EXPECT_EQ(own.from, 0);
  EXPECT_EQ(own.to, 0);
  EXPECT_EQ(own.shift, 2);
  const Transfer& push = schedule.rounds[0][1];
  EXPECT_EQ(push.to, 1);
  EXPECT_EQ(push.first, 1);
  EXPECT_EQ(push.shift, 4);
  const Transfer& pull = schedule.rounds[1][0];
  EXPECT_EQ(pull.from, 1);
  EXPECT_EQ(pull.to, 2);
  EXPECT_EQ(pull.first, 5);
  EXPECT_EQ(pull.shift, -4);
}

TEST(Colocation, OfOneServerSparesTheMessagesOfItsRank) {
  // Each but the first pushes the message and pulls it, one after the other.
  const Link slow_link{Seconds(1e-5), SecondsPerByte(1e-9), SecondsPerByte()};
  for (const int p : {2, 3, 6}) {
    const Schedule schedule = colocated(parameter_server().schedule({.p = p}));
    const double message = 1e-5 + 1e-3;
    EXPECT_NEAR(time(schedule, slow_link, Bytes(1e6)).si(), 2 * (p - 1) * message, 1e-12) << p;
  }
}

TEST(Colocation, OfAServerOnEveryRankMovesAShareToEachAndBack) {
  const Link slow_link{Seconds(), SecondsPerByte(1e-9), SecondsPerByte()};
  for (const int p : {2, 3, 6}) {
    const Schedule schedule = colocated(parameter_server().schedule({.p = p, .servers = p}));
    EXPECT_NEAR(time(schedule, slow_link, Bytes(1e6)).si(), 2.0 * (p - 1) / p * 1e-3, 1e-12) << p;
  }
}

TEST(Colocation, LeavesAScheduleOfRanksAloneAsItIs) {
  const Schedule ring = find(Collective::all_reduce, "ring")->schedule({.p = 5});
  const Schedule same = colocated(ring);
  ASSERT_EQ(same.rounds.size(), ring.rounds.size());
  EXPECT_EQ(same.scratch, 0);
  for (std::size_t i = 0; i < ring.rounds.size(); ++i) {
    for (std::size_t j = 0; j < ring.rounds[i].size(); ++j) {
      EXPECT_EQ(same.rounds[i][j].to, ring.rounds[i][j].to);
      EXPECT_EQ(same.rounds[i][j].shift, 0);
    }
  }
  const Schedule scratched = find(Collective::all_to_all, "bruck")->schedule({.p = 5});
  EXPECT_THROW(static_cast<void>(colocated(scratched)), std::logic_error);
}

}  // namespace
}  // namespace dlscale::collective
