#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/comm/few_samples.hpp"
#include "tests/bench/comm/wrong_communicator.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using testing::HasSubstr;
using Values = std::map<std::string, std::string>;

void for_each_measurement(Communicator& ranks, const Values& values,
                          const std::function<void(const Cell&, const Measurement&)>& use,
                          const StoppingCriterion& criterion = one_sample()) {
  Context context = make_context(comm_benchmark(), values, ranks);
  const Sampler sampler(ranks, criterion);
  for (const Cell& cell : comm_benchmark().cells(context)) use(cell, cell.measure(sampler));
}

const Values small = {{"collectives", "all_reduce,sendrecv"},
                      {"sizes", "4B,12B,64KiB"},
                      {"waiting", "spin,sleep"},
                      {"cache", "hot"}};

void expect_times_of_every_rank(const Cell& cell, const Measurement& measurement, int ranks) {
  EXPECT_TRUE(measurement.status == Status::ok || measurement.status == Status::unstable)
      << measurement.reason;
  ASSERT_EQ(measurement.at("time").samples.size(), static_cast<std::size_t>(ranks));
  for (const auto& times : measurement.at("time").samples) EXPECT_EQ(times.size(), 6U);
  EXPECT_EQ(measurement.work.value().bytes.si(), std::stod(cell.axes.at("bytes")));
  EXPECT_FALSE(measurement.implementation.empty());
}

TEST(BenchComm, MeasuresEveryCellOnEveryRank) {
  for (const int size : {2, 3}) {
    backend::run_on_threads(size, [](Communicator& ranks) {
      int cells = 0;
      const auto use = [&](const Cell& cell, const Measurement& measurement) {
        ++cells;
        expect_times_of_every_rank(cell, measurement, ranks.size());
      };
      for_each_measurement(ranks, small, use, few_samples());
      EXPECT_EQ(cells, 2 * 3 * 2);
    });
  }
}

const Values everything = {
    {"collectives",
     "all_reduce,reduce,broadcast,all_gather,reduce_scatter,all_to_all,sendrecv,bandwidth,"
     "bidirectional,pairs,barrier"},
    {"sizes", "24B,4KiB"},
    {"dtype", "f32,f64,bf16,f16,i32,i64,u8"},
    {"op", "sum,max,min"},
    {"mode", "blocking,nonblocking,persistent"},
    {"in_place", "yes,no"},
    {"cache", "hot"}};

/// What is not measured needs a reason that is none of ours.
void expect_measured(const Cell& cell, const Measurement& measurement) {
  std::string axes;
  for (const auto& [axis, value] : cell.axes) axes += axis + "=" + value + " ";
  EXPECT_TRUE(measurement.status == Status::ok || measurement.status == Status::unstable)
      << axes << measurement.reason;
}

std::string axis_of(const Cell& cell, const std::string& name) {
  const auto found = cell.axes.find(name);
  return found == cell.axes.end() ? "" : found->second;
}

TEST(BenchComm, MeasuresEveryCollectiveTypeOperatorAndMode) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(3, [](Communicator& ranks) {
    std::map<std::string, int> cells;
    for_each_measurement(ranks, everything, [&](const Cell& cell, const Measurement& measurement) {
      expect_measured(cell, measurement);
      ++cells[cell.axes.at("collective")];
    });
    const int each = 2 * 7;  // sizes and types
    const std::map<std::string, int> expected{{"all_reduce", each * 3 * 3 * 2},
                                              {"reduce", each * 3 * 3 * 2},
                                              {"reduce_scatter", each * 3 * 3 * 2},
                                              {"broadcast", each * 3},
                                              {"all_gather", each * 3 * 2},
                                              {"all_to_all", each * 3 * 2},
                                              {"sendrecv", each},
                                              {"bandwidth", each},
                                              {"bidirectional", each},
                                              {"pairs", each},
                                              {"barrier", 1}};
    EXPECT_EQ(cells, expected);
  });
}

TEST(BenchComm, MeasuresEveryCollectiveOfALauncher) {
  backend::Processes::run([](Communicator& ranks) {
    if (ranks.size() == 1) return;
    Values fewer = everything;
    fewer["dtype"] = "f32,bf16";
    fewer["sizes"] = "4KiB";
    for_each_measurement(ranks, fewer, expect_measured);
  });
}

TEST(BenchComm, GivesRowsTheAxesThatConcernThem) {
  backend::run_on_threads(2, [](Communicator& ranks) {
    Context context =
        make_context(comm_benchmark(),
                     {{"collectives", everything.at("collectives")}, {"sizes", "4KiB"}}, ranks);
    for (const Cell& cell : comm_benchmark().cells(context)) {
      const std::string name = cell.axes.at("collective");
      const bool sum = name == "all_reduce" || name == "reduce" || name == "reduce_scatter";
      const bool windows = name == "bandwidth" || name == "bidirectional";
      EXPECT_EQ(axis_of(cell, "op"), sum ? "sum" : "") << name;
      EXPECT_EQ(axis_of(cell, "window"), windows ? "64" : "") << name;
      EXPECT_EQ(axis_of(cell, "bytes"), name == "barrier" ? "" : "4096") << name;
      EXPECT_EQ(axis_of(cell, "dtype"), name == "barrier" ? "" : "f32") << name;
      const bool cut = name == "all_gather" || name == "reduce_scatter" || name == "all_to_all";
      EXPECT_EQ(axis_of(cell, "in_place"), cut ? "no" : (sum ? "yes" : "")) << name;
      EXPECT_EQ(axis_of(cell, "mode"), cut || sum || name == "broadcast" ? "blocking" : "") << name;
    }
  });
}

TEST(BenchComm, SaysWhatItMovedOfBlocks) {
  backend::run_on_threads(3, [](Communicator& ranks) {
    for_each_measurement(ranks,
                         {{"collectives", "all_gather"}, {"sizes", "4KiB"}, {"cache", "hot"}},
                         [](const Cell& cell, const Measurement& measurement) {
                           EXPECT_EQ(cell.axes.at("bytes"), "4104");  // 3 blocks of 342 f32
                           EXPECT_EQ(measurement.work.value().bytes.si(), 4104);
                         });
  });
}

const Values by_all_algorithms = {
    {"collectives", "all_reduce,reduce,broadcast,all_gather,reduce_scatter,all_to_all"},
    {"sizes", "24B,4KiB"},
    {"algorithm", "all"},
    {"dtype", "f32,bf16"},
    {"in_place", "yes,no"},
    {"cache", "hot"}};

/// Carried out by the library or by us, or not for want of switches that add.
void expect_carried_out(const Cell& cell, const Measurement& measurement) {
  const std::string algorithm = cell.axes.at("algorithm");
  if (algorithm == "in_network") {
    EXPECT_EQ(measurement.status, Status::unsupported);
    EXPECT_THAT(measurement.reason, HasSubstr("in_network needs switches that add"));
    return;
  }
  expect_measured(cell, measurement);
  EXPECT_EQ(measurement.algorithmic_work.has_value(), algorithm != "library");
  if (algorithm == "library") return;
  EXPECT_THAT(measurement.implementation, HasSubstr(algorithm + " by dlscale over "));
  EXPECT_GT(measurement.algorithmic_work->bytes, Bytes(0));
}

TEST(BenchComm, CarriesOutEveryAlgorithm) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  for (const int size : {2, 3}) {
    backend::run_on_threads(size, [](Communicator& ranks) {
      std::map<std::string, int> cells;
      for_each_measurement(ranks, by_all_algorithms, [&](const Cell& cell, const Measurement& m) {
        expect_carried_out(cell, m);
        if (is_timed(m)) ++cells[cell.axes.at("collective")];
      });
      EXPECT_EQ(cells.size(), 6U);
      // The library and at least one of ours, of two types and sizes, once or in place too.
      for (const auto& [collective, count] : cells) EXPECT_GE(count, 2 * 4) << collective;
    });
  }
}

TEST(BenchComm, CarriesOutEveryAlgorithmBetweenTheRanksOfALauncher) {
  backend::Processes::run([](Communicator& ranks) {
    if (ranks.size() > 1) for_each_measurement(ranks, by_all_algorithms, expect_carried_out);
  });
}

TEST(BenchComm, KnowsWhatARingSends) {
  backend::run_on_threads(3, [](Communicator& ranks) {
    for_each_measurement(
        ranks, {{"algorithm", "ring"}, {"sizes", "12KiB"}, {"cache", "hot"}},
        [](const Cell&, const Measurement& measurement) {
          ASSERT_TRUE(measurement.algorithmic_work.has_value());
          EXPECT_NEAR(measurement.algorithmic_work->bytes.si(), 2.0 * 2 / 3 * 12288, 1e-6);
          EXPECT_NEAR(measurement.algorithmic_work->flops.si(), 2.0 / 3 * 3072, 1e-6);
        });
  });
}

TEST(BenchComm, KnowsWhatParameterServersSend) {
  backend::run_on_threads(3, [](Communicator& ranks) {
    std::map<std::string, double> messages;
    for_each_measurement(ranks,
                         {{"algorithm", "parameter_server,ring"},
                          {"servers", "1,all,3"},
                          {"segments", "2"},
                          {"sizes", "12KiB"},
                          {"cache", "hot"}},
                         [&](const Cell& cell, const Measurement& measurement) {
                           expect_carried_out(cell, measurement);
                           messages[axis_of(cell, "servers")] =
                               measurement.algorithmic_work->bytes.si() / 12288;
                         });
    ASSERT_EQ(messages.size(), 3U);           // that of the ring has no servers
    EXPECT_NEAR(messages.at("1"), 2, 1e-12);  // of the rank that serves the two others
    EXPECT_NEAR(messages.at("3"), 2.0 * 2 / 3, 1e-12);
  });
}

TEST(BenchComm, CutsNoElementIntoSegments) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  for (const int size : {2, 3}) {
    backend::run_on_threads(size, [](Communicator& ranks) {
      Values values = by_all_algorithms;
      values["collectives"] = "all_reduce,reduce,broadcast";
      values["segments"] = "8,65536";
      values["in_place"] = "no";
      for_each_measurement(ranks, values, [&](const Cell& cell, const Measurement& measurement) {
        expect_carried_out(cell, measurement);
        const std::string segments = axis_of(cell, "segments");
        if (segments.empty() || !is_timed(measurement)) return;
        if (segments == "65536") {
          EXPECT_THAT(measurement.implementation, HasSubstr(" of one element"));
        } else if (cell.axes.at("bytes") != "24") {
          EXPECT_THAT(measurement.implementation, Not(HasSubstr(" of one element")));
        }
      });
    });
  }
}

const Values without_blocking = {{"collectives", by_all_algorithms.at("collectives")},
                                 {"sizes", "4KiB"},
                                 {"algorithm", "all"},
                                 {"mode", "nonblocking,persistent"},
                                 {"cache", "hot"}};

TEST(BenchComm, CarriesOutEveryAlgorithmWithoutBlocking) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(3, [](Communicator& ranks) {
    for_each_measurement(ranks, without_blocking, expect_carried_out);
  });
}

TEST(BenchComm, CarriesOutEveryAlgorithmWithoutBlockingBetweenTheRanksOfALauncher) {
  backend::Processes::run([](Communicator& ranks) {
    if (ranks.size() > 1) for_each_measurement(ranks, without_blocking, expect_carried_out);
  });
}

TEST(BenchComm, CarriesOutAlgorithmsInEveryModeFromColdBuffers) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    std::map<std::string, int> rows;
    for_each_measurement(
        ranks,
        {{"algorithm", "ring"}, {"sizes", "4KiB"}, {"mode", "blocking,nonblocking,persistent"}},
        [&](const Cell& cell, const Measurement& measurement) {
          expect_carried_out(cell, measurement);
          ++rows[cell.axes.at("mode")];
        });
    const std::map<std::string, int> one_each{
        {"blocking", 1}, {"nonblocking", 1}, {"persistent", 1}};
    EXPECT_EQ(rows, one_each);
  });
}

TEST(BenchComm, MeasuresFromColdBuffersByDefault) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    const auto use = [&](const Cell& cell, const Measurement& m) {
      EXPECT_EQ(cell.axes.at("cache"), "cold");
      EXPECT_EQ(cell.axes.at("collective"), "all_reduce");
      expect_times_of_every_rank(cell, m, ranks.size());
    };
    for_each_measurement(ranks, {{"sizes", "4KiB"}}, use, few_samples());
  });
}

TEST(BenchComm, MeasuresBuffersAsTheyWereLeft) {
  backend::run_on_threads(2, [](Communicator& ranks) {
    const Values reused{{"sizes", "4KiB"},
                        {"cache", "reused"},
                        {"in_place", "yes,no"},
                        {"dtype", "f32,f16,i32,u8"}};
    int rows = 0;
    const auto use = [&](const Cell& cell, const Measurement& m) {
      EXPECT_EQ(cell.axes.at("cache"), "reused");
      expect_times_of_every_rank(cell, m, ranks.size());
      ++rows;
    };
    for_each_measurement(ranks, reused, use, few_samples());
    EXPECT_EQ(rows, 2 * 4);
  });
}

TEST(BenchComm, MeasuresTheRanksOfALauncher) {
  backend::Processes::run([](Communicator& ranks) {
    const auto use = [&](const Cell& cell, const Measurement& measurement) {
      if (ranks.size() > 1) expect_times_of_every_rank(cell, measurement, ranks.size());
      EXPECT_EQ(cell.axes.at("ranks"), std::to_string(ranks.size()));
    };
    for_each_measurement(ranks, small, use, few_samples());
  });
}

TEST(BenchComm, SaysWhyASingleRankHasNothingToMeasure) {
  backend::run_on_threads(1, [](Communicator& ranks) {
    int cells = 0;
    for_each_measurement(ranks, {}, [&](const Cell&, const Measurement& measurement) {
      ++cells;
      EXPECT_EQ(measurement.status, Status::unsupported);
      EXPECT_THAT(measurement.reason, HasSubstr("mpirun -n 2"));
      EXPECT_TRUE(measurement.series.empty());
    });
    EXPECT_EQ(cells, 1);
  });
}

/// Whether messages are wrong of the library, of our algorithms, and beside work.
TEST(BenchComm, PrintsNoTimeForAWrongResult) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  Values by_library = everything;
  by_library["collectives"] =
      "all_reduce,reduce,broadcast,all_gather,reduce_scatter,all_to_all,sendrecv,bandwidth,"
      "bidirectional,pairs";
  by_library["sizes"] = "4KiB";
  const Values by_algorithm{{"algorithm", "ring,binomial"},
                            {"sizes", "4KiB"},
                            {"mode", "blocking,nonblocking,persistent"}};
  const Values beside{{"collectives", "all_reduce,reduce_scatter,all_gather,all_to_all"},
                      {"sizes", "4KiB"},
                      {"beside", "memcpy"}};
  for (const auto& [values, size, least_rows] :
       {std::tuple(by_library, 3, 10), std::tuple(by_algorithm, 3, 6), std::tuple(beside, 2, 4)}) {
    backend::run_on_threads(size, [&values, size, least_rows](Communicator& ranks) {
      WrongCommunicator wrong(ranks);
      int rows = 0;
      for_each_measurement(wrong, values, [&](const Cell&, const Measurement& measurement) {
        EXPECT_EQ(measurement.status, Status::wrong);
        EXPECT_TRUE(measurement.series.empty());
        EXPECT_THAT(measurement.reason, HasSubstr(size == 2 ? "wrong on 1 of 2 ranks" : "rank"));
        ++rows;
      });
      EXPECT_GE(rows, least_rows);
    });
  }
}

TEST(BenchComm, DoesWorkBesideCollectivesOnly) {
  backend::run_on_threads(2, [](Communicator& ranks) {
    Context context = make_context(comm_benchmark(),
                                   {{"collectives", "all_reduce,sendrecv"},
                                    {"sizes", "4KiB"},
                                    {"beside", "nothing,memcpy"},
                                    {"beside_work", "0.5,1"}},
                                   ranks);
    std::map<std::string, int> rows;
    for (const Cell& cell : comm_benchmark().cells(context)) {
      EXPECT_EQ(cell.axes.contains("beside"), cell.axes.contains("beside_work"));
      EXPECT_FALSE(cell.axes.contains("backend"));
      ++rows[cell.axes.at("collective") + " " + axis_of(cell, "beside") + " " +
             axis_of(cell, "beside_work")];
    }
    const std::map<std::string, int> expected{{"all_reduce  ", 1},
                                              {"all_reduce memcpy 0.5", 1},
                                              {"all_reduce memcpy 1", 1},
                                              {"sendrecv  ", 1}};
    EXPECT_EQ(rows, expected);
  });
}

TEST(BenchComm, RefusesUnknownChoices) {
  backend::run_on_threads(1, [](Communicator& ranks) {
    for (const auto& [axis, value] :
         std::multimap<std::string, std::string>{{"collectives", "all_to_none"},
                                                 {"waiting", "nap"},
                                                 {"cache", "warm"},
                                                 {"dtype", "f8"},
                                                 {"op", "mean"},
                                                 {"mode", "eager"},
                                                 {"in_place", "maybe"},
                                                 {"beside", "sleep"},
                                                 {"beside_work", "much"},
                                                 {"beside_work", "0"},
                                                 {"beside_work", "1e3"},
                                                 {"servers", "0"},
                                                 {"servers", "each"},
                                                 {"sizes", "64"}}) {
      Context context = make_context(comm_benchmark(), {{axis, value}}, ranks);
      EXPECT_THROW(comm_benchmark().cells(context), ConfigError) << axis;
    }
  });
}

TEST(BenchComm, RefusesSizesThatAreNoWholeElements) {
  backend::run_on_threads(2, [](Communicator& ranks) {
    for (const char* size : {"0 B", "12 B", "2 B"}) {
      Context context = make_context(comm_benchmark(), {{"sizes", size}, {"dtype", "f64"}}, ranks);
      EXPECT_THROW(comm_benchmark().cells(context), ConfigError) << size;
    }
  });
}

TEST(BenchComm, RefusesOptionsWithoutEffect) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    const auto complaint = [&](const std::string& collectives, const Values& given) -> std::string {
      Values values = given;
      values["collectives"] = collectives;
      Context context = make_context(comm_benchmark(), values, ranks);
      try {
        static_cast<void>(comm_benchmark().cells(context));
      } catch (const ConfigError& error) {
        return error.what();
      }
      return "";
    };
    struct Case {
      std::string collectives;
      Values given;
      std::string said;
    };
    for (const auto& [collectives, given, said] : {
             Case{"broadcast,sendrecv",
                  {{"op", "max"}},
                  "--op has no effect on broadcast, sendrecv"},
             Case{"broadcast", {{"in_place", "no"}}, "--in-place has no effect"},
             Case{"sendrecv", {{"mode", "persistent"}}, "--mode has no effect"},
             Case{"barrier", {{"dtype", "f64"}}, "--dtype has no effect"},
             Case{"barrier", {{"sizes", "4B"}}, "--sizes has no effect"},
             Case{"sendrecv", {{"algorithm", "ring"}}, "--algorithm has no effect"},
             Case{"all_reduce",
                  {{"networks", "alexnet"}, {"sizes", "4KiB"}},
                  "--networks has no effect: the sizes are not those of networks' gradients"},
             Case{"all_reduce", {{"algorithm", "rnig"}}, "Did you mean \"ring\"?"},
             Case{"all_reduce",
                  {{"algorithm", "ring"}, {"segments", "4"}},
                  "--segments has no effect"},
             Case{"all_reduce",
                  {{"algorithm", "segmented_ring"}, {"segments", "65537"}},
                  "--segments is 65537: to lay out so many takes longer"},
             Case{"all_reduce",
                  {{"algorithm", "ring"}, {"servers", "2"}},
                  "--servers has no effect"},
             Case{"sendrecv,barrier",
                  {{"beside", "memcpy"}},
                  "--overlap-with has no effect on sendrecv, barrier"},
             Case{"all_reduce",
                  {{"beside_work", "2"}},
                  "--overlap-work has no effect: nothing is done beside"},
             Case{"all_reduce", {{"backend", "reference"}}, "--backend has no effect"},
             Case{"all_reduce",
                  {{"beside", "memcpy"}, {"threads", "1"}},
                  "--threads has no effect: nothing is computed beside"},
             Case{"broadcast,reduce", {{"op", "max"}, {"sizes", "4B"}}, ""},
             Case{"all_reduce", {{"networks", "alexnet"}, {"sizes", "4KiB,gradients"}}, ""},
             Case{"all_reduce", {{"algorithm", "segmented_ring"}, {"segments", "65536"}}, ""},
             Case{"all_reduce", {{"algorithm", "all"}, {"servers", "2"}}, ""},
             Case{"all_reduce,barrier", {{"algorithm", "ring"}, {"sizes", "4B"}}, ""},
             Case{"all_reduce", {{"beside", "conv"}, {"backend", "reference"}}, ""},
             Case{"all_reduce",
                  {{"beside", "gemm"}, {"backend", "referense"}},
                  "Did you mean \"reference\"?"},
         }) {
      const std::string complained = complaint(collectives, given);
      EXPECT_THAT(complained, HasSubstr(said));
      EXPECT_EQ(complained.empty(), said.empty()) << complained;
    }
  });
}

}  // namespace
}  // namespace dlscale::bench
