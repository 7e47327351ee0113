#include "bench/comm/overlap/measure_overlap.hpp"

#include <map>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/compute/check/check.hpp"
#include "backend/host/host.hpp"
#include "bench/comm/overlap/overlap_rounds.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/results/usable_rows.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/engine/quick.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using testing::HasSubstr;

/// A library's, where there is one: the reference takes its time.
std::string quickest_backend() {
  return family<backend::ComputeBackend>().find("onednn") != nullptr ? "onednn" : "reference";
}

std::shared_ptr<Workbench> workbench() {
  return std::make_shared<Workbench>(open_device(quickest_backend(), 1),
                                     open_device("reference", 1), 1);
}

TEST(OverlapWork, LeavesWhatIsRight) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  for (const std::string& name : overlap_work_names()) {
    const auto work = make_overlap_work(name, needs_backend(name) ? workbench() : nullptr);
    for (int round = 0; round < 2; ++round) {
      work->spoil();
      work->run();
      work->run();
      EXPECT_LE(work->check().error, backend::allowed_error(DType::f32)) << name;
    }
    EXPECT_GT(work->memory(), Bytes(0)) << name;
    EXPECT_FALSE(work->implementation().empty()) << name;
  }
}

TEST(OverlapWork, IsWrongWhereSomethingElseWroteToItsResult) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  for (const std::string& name : overlap_work_names()) {
    if (!needs_backend(name)) continue;  // of a copy only what was copied is looked at
    const auto work = make_overlap_work(name, workbench());
    work->run();
    work->spoil();
    EXPECT_GT(work->check().error, backend::allowed_error(DType::f32)) << name;
  }
}

using Values = std::map<std::string, std::string>;

Values beside_all() {
  return {{"collectives", "all_reduce,reduce_scatter,all_gather,all_to_all"},
          {"sizes", "4KiB"},
          {"cache", "hot"},
          {"beside", "gemm,conv,memcpy"},
          {"backend", quickest_backend()}};
}

std::vector<Measurement> measure(Communicator& ranks, const Values& values) {
  const Benchmark& comm = *family<Benchmark>().find("comm");
  Context context = make_context(comm, values, ranks);
  std::vector<Measurement> rows;
  for (const Cell& cell : comm.cells(context)) {
    rows.push_back(cell.measure(Sampler(ranks, quick)));
    rows.back().axes = cell.axes;
  }
  return rows;
}

std::vector<double> longest(const Measurement& row, const char* series) {
  return slowest_rank(row.at(series).samples);
}

/// Every derived series follows from the times of the ranks.
void expect_overlap(const Measurement& row) {
  const std::vector<double> t_c = longest(row, "compute_alone");
  const std::vector<double> t_m = longest(row, "messages_alone");
  const std::vector<double> t_o = longest(row, "together");
  const std::vector<double> c_o = longest(row, "compute_beside");
  const std::vector<double> m_o = longest(row, "time");
  for (std::size_t i = 0; i < m_o.size(); ++i) {
    const Overlap expected = overlap(
        {Seconds(t_c[i]), Seconds(t_m[i]), Seconds(t_o[i]), Seconds(c_o[i]), Seconds(m_o[i])});
    const auto value = [&](const char* series) { return row.at(series).samples.at(0).at(i); };
    EXPECT_DOUBLE_EQ(value("overlap_efficiency"), expected.efficiency);
    EXPECT_DOUBLE_EQ(value("compute_slowdown"), expected.compute_slowdown);
    EXPECT_DOUBLE_EQ(value("messages_slowdown"), expected.messages_slowdown);
    EXPECT_DOUBLE_EQ(value("exposed"), expected.exposed.si());
    EXPECT_DOUBLE_EQ(value("hidden"), expected.hidden.si());
    // What both took is no shorter than either of them, on each rank and so of the longest.
    EXPECT_GE(t_o[i], c_o[i]);
    EXPECT_GE(t_o[i], m_o[i]);
  }
}

void expect_row(const Measurement& row, int ranks) {
  ASSERT_TRUE(is_timed(row)) << row.key() << ": " << row.reason;
  for (const char* series :
       {"time", "compute_alone", "messages_alone", "together", "compute_beside"}) {
    ASSERT_EQ(row.at(series).samples.size(), static_cast<std::size_t>(ranks)) << series;
    EXPECT_EQ(row.at(series).unit, "s");
    for (const auto& samples : row.at(series).samples) EXPECT_EQ(samples.size(), 2U) << series;
  }
  expect_overlap(row);
  EXPECT_GE(row.at("compute_runs").summary.median, 1);
  EXPECT_EQ(row.at("start_skew").samples.front().size(), 2U);
  EXPECT_EQ(row.work.value().bytes.si(), std::stod(row.axes.at("bytes")));
  EXPECT_THAT(row.implementation, HasSubstr(" beside "));
  EXPECT_LE(row.max_relative_error.value(), backend::allowed_error(DType::f32));
  EXPECT_FALSE(is_sent_as_in_training(row));
}

void expect_all_rows(Communicator& ranks, const Values& values, std::size_t count) {
  std::set<std::string> keys;
  for (const Measurement& row : measure(ranks, values)) {
    expect_row(row, ranks.size());
    keys.insert(row.key());
    EXPECT_EQ(row.axes.contains("backend"), row.axes.at("beside") != "memcpy");
  }
  EXPECT_EQ(keys.size(), count);
}

TEST(OverlapMessages, IsMeasuredForEveryCollective) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  for (const int size : {2, 3}) {
    backend::run_on_threads(
        size, [](Communicator& ranks) { expect_all_rows(ranks, beside_all(), 4 * 3); });
  }
}

TEST(OverlapMessages, SayAtOnceThatThreadsShareCores) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  if (quickest_backend() == "reference") GTEST_SKIP() << "it computes on one thread";
  const std::string crowded = std::to_string(backend::usable_cores().size() + 1);
  testing::internal::CaptureStderr();
  backend::run_on_threads(2, [&crowded](Communicator& ranks) {
    Context context = make_context(*family<Benchmark>().find("comm"),
                                   {{"sizes", "4KiB"},
                                    {"beside", "gemm"},
                                    {"backend", quickest_backend()},
                                    {"threads", crowded}},
                                   ranks);
    EXPECT_EQ(family<Benchmark>().find("comm")->cells(context).size(), 1U);
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr(crowded + " cores are to be busy"));
  EXPECT_EQ(said.find("are to be busy"), said.rfind("are to be busy")) << said;
}

TEST(OverlapMessages, IsMeasuredBetweenTheRanksOfALauncher) {
  backend::Processes::run([](Communicator& ranks) {
    if (ranks.size() == 1) return;
    Values values = beside_all();
    values["waiting"] = "sleep";
    expect_all_rows(ranks, values, 4 * 3);
  });
}

TEST(OverlapMessages, TakesBuffersInTurnAndOtherCallsToo) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    expect_all_rows(ranks,
                    {{"sizes", "4KiB"},
                     {"beside", "memcpy"},
                     {"beside_work", "0.5,2"},
                     {"mode", "blocking,nonblocking"}},
                    4);
    expect_all_rows(ranks, {{"sizes", "4KiB"}, {"beside", "memcpy"}, {"algorithm", "ring"}}, 1);
  });
}

/// Work that goes wrong, on one rank, from some run on.
class FaultyWork : public OverlapWork {
 public:
  enum class Fault { none, wrong, throws };
  FaultyWork(Fault fault, int after) : fault_(fault), after_(after) {}
  void run() override {
    ++runs_;
    if (fault_ == Fault::throws && runs_ > after_) throw LibraryError("out of breath");
  }
  void spoil() override {}
  [[nodiscard]] Finding check() override {
    const bool wrong = fault_ == Fault::wrong && runs_ > after_;
    return {.error = wrong ? 1.0 : 0.0, .worst = "the breath"};
  }
  [[nodiscard]] Bytes memory() const override { return Bytes(1); }
  [[nodiscard]] std::string implementation() const override { return "breathing"; }

 private:
  Fault fault_;
  int after_;
  int runs_ = 0;
};

Measurement measure_faulty(Communicator& ranks, FaultyWork::Fault fault, int after) {
  const auto of_rank = ranks.rank() == 1 ? fault : FaultyWork::Fault::none;
  const OverlapSetup beside{
      .make_work = [=] { return std::make_unique<FaultyWork>(of_rank, after); }};
  const Message message{.collective = "all_reduce", .bytes = 4096};
  return measure_overlap(message, {}, beside, Sampler(ranks, quick));
}

TEST(OverlapMessages, HaveNoTimeWhereTheWorkBecameWrong) {
  for (const int after : {0, 10}) {  // before the first sample, and among them
    backend::run_on_threads(3, [after](Communicator& ranks) {
      const Measurement row = measure_faulty(ranks, FaultyWork::Fault::wrong, after);
      EXPECT_EQ(row.status, Status::wrong);
      EXPECT_TRUE(row.series.empty());
      EXPECT_THAT(row.reason, HasSubstr("differs from the reference"));
    });
  }
}

TEST(OverlapMessages, EndOnAllRanksWhereTheWorkThrows) {
  for (const int after : {0, 4, 10}) {
    backend::run_on_threads(3, [after](Communicator& ranks) {
      try {
        measure_faulty(ranks, FaultyWork::Fault::throws, after);
        ADD_FAILURE() << "nothing was thrown on rank " << ranks.rank();
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("out of breath"));
      }
    });
  }
}

TEST(OverlapMessages, AreUnsupportedWhereTheWorkIs) {
  backend::run_on_threads(2, [](Communicator& ranks) {
    const OverlapSetup beside{.make_work = []() -> std::unique_ptr<OverlapWork> {
      throw Unsupported("This work does not exist here. Use other work.");
    }};
    const Message message{.collective = "all_reduce", .bytes = 4096};
    const Measurement row = measure_overlap(message, {}, beside, Sampler(ranks, quick));
    EXPECT_EQ(row.status, Status::unsupported);
    EXPECT_THAT(row.reason, HasSubstr("does not exist here"));
  });
}

}  // namespace
}  // namespace dlscale::bench
