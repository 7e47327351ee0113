#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/benchmark.hpp"
#include "core/error.hpp"
#include "tests/backend/comm/groups.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using testing::HasSubstr;
using Values = std::map<std::string, std::string>;

const Benchmark& comm_benchmark() {
  return *family<Benchmark>().find("comm");
}

StoppingCriterion few_samples() {
  StoppingCriterion criterion;
  criterion.min_samples = 6;
  criterion.max_samples = 6;
  criterion.min_warmup = Seconds(0);
  criterion.min_warmups = 1;
  return criterion;
}

void for_each_measurement(Communicator& ranks, const Values& values,
                          const std::function<void(const Cell&, const Measurement&)>& use) {
  Context context = make_context(comm_benchmark(), values, ranks);
  const Sampler sampler(ranks, few_samples());
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
      for_each_measurement(ranks, small, [&](const Cell& cell, const Measurement& measurement) {
        ++cells;
        expect_times_of_every_rank(cell, measurement, ranks.size());
      });
      EXPECT_EQ(cells, 2 * 3 * 2);
    });
  }
}

TEST(BenchComm, MeasuresFromColdBuffersByDefault) {
  backend::run_on_threads(2, [](Communicator& ranks) {
    for_each_measurement(ranks, {{"sizes", "4KiB"}}, [&](const Cell& cell, const Measurement& m) {
      EXPECT_EQ(cell.axes.at("cache"), "cold");
      EXPECT_EQ(cell.axes.at("collective"), "all_reduce");
      expect_times_of_every_rank(cell, m, ranks.size());
    });
  });
}

TEST(BenchComm, MeasuresTheRanksOfALauncher) {
  backend::Processes::run([](Communicator& ranks) {
    for_each_measurement(ranks, small, [&](const Cell& cell, const Measurement& measurement) {
      if (ranks.size() > 1) expect_times_of_every_rank(cell, measurement, ranks.size());
      EXPECT_EQ(cell.axes.at("ranks"), std::to_string(ranks.size()));
    });
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

/// Passes everything on, but adds one to an element of each sum and each message.
class WrongCommunicator : public Communicator {
 public:
  explicit WrongCommunicator(Communicator& right) : right_(&right) {}
  [[nodiscard]] Rank rank() const override { return right_->rank(); }
  [[nodiscard]] int size() const override { return right_->size(); }
  [[nodiscard]] int node_size() const override { return right_->node_size(); }
  [[nodiscard]] int node_rank() const override { return right_->node_rank(); }
  [[nodiscard]] std::string library() const override { return "wrong"; }
  void send(std::span<const std::byte> data, Rank to, int tag) override {
    std::vector<std::byte> changed(data.begin(), data.end());
    changed.back() ^= std::byte{1};
    right_->send(changed, to, tag);
  }
  void receive(std::span<std::byte> data, Rank from, int tag) override {
    right_->receive(data, from, tag);
  }
  void all_reduce(std::span<float> data, backend::Reduction op) override {
    right_->all_reduce(data, op);
    if (rank() == size() - 1) data[data.size() / 2] += 1.0F;
  }
  void all_reduce(std::span<double> data, backend::Reduction op) override {
    right_->all_reduce(data, op);
  }
  void broadcast(std::span<std::byte> data, Rank root) override { right_->broadcast(data, root); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    right_->all_gather(mine, all);
  }
  void barrier() override { right_->barrier(); }
  void meet(backend::Waiting waiting) override { right_->meet(waiting); }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override { return right_->duplicate(); }

 private:
  Communicator* right_;
};

TEST(BenchComm, PrintsNoTimeForAWrongResult) {
  backend::run_on_threads(3, [](Communicator& ranks) {
    WrongCommunicator wrong(ranks);
    for_each_measurement(wrong, small, [](const Cell&, const Measurement& measurement) {
      EXPECT_EQ(measurement.status, Status::wrong);
      EXPECT_TRUE(measurement.series.empty());
      EXPECT_THAT(measurement.reason, HasSubstr("rank"));
    });
  });
}

TEST(BenchComm, RefusesUnknownChoices) {
  backend::run_on_threads(1, [](Communicator& ranks) {
    for (const auto& [axis, value] : Values{{"collectives", "all_to_all"},
                                            {"waiting", "nap"},
                                            {"cache", "warm"},
                                            {"sizes", "64"}}) {
      Context context = make_context(comm_benchmark(), {{axis, value}}, ranks);
      EXPECT_THROW(comm_benchmark().cells(context), ConfigError) << axis;
    }
  });
}

}  // namespace
}  // namespace dlscale::bench
