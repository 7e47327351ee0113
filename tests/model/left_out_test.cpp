#include "model/calibrate/left_out.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace dlscale::model {
namespace {

using Axes = std::map<std::string, std::string>;

/// Why a row is left out of a machine of the backend "onednn"; empty if it is not.
std::string why(const std::string& benchmark, const Axes& axes, Status status = Status::ok) {
  Measurement row;
  row.benchmark = benchmark;
  row.axes = axes;
  row.status = status;
  ResultFile file;
  file.measurements.push_back(row);
  Machine machine;
  machine.measured_on.backend = "onednn";
  AlgorithmFit ring;
  ring.asked = "ring";
  ring.carrier.collective = "all_reduce";
  machine.algorithms.push_back(ring);
  const std::vector<LeftOutRows> left = left_out(std::vector{file}, machine, {});
  if (left.empty()) return "";
  EXPECT_EQ(left.size(), 1U);
  return to_text(left.front());
}

Axes with(Axes axes, const std::string& name, const std::string& value) {
  axes[name] = value;
  return axes;
}

TEST(LeftOut, NothingThatCalibrateTakes) {
  EXPECT_EQ(why("conv", {{"backend", "onednn"}, {"cache", "cold"}, {"algorithm", "chosen"}}), "");
  EXPECT_EQ(why("update", {{"backend", "onednn"}, {"cache", "cold"}}), "");
  EXPECT_EQ(why("memory", {{"operation", "copy"}}), "");
  EXPECT_EQ(why("io", {{"source", "page_cache"}}), "");
}

TEST(LeftOut, MessagesInOtherMemoryThanGradients) {
  ResultFile file;
  Measurement row;
  row.benchmark = "gemm";
  row.axes = {{"backend", "cuda"}};
  row.series = {{"time", make_series("s", {{1e-3}})}, {"give", make_series("s", {{3e-6}})}};
  file.measurements.push_back(row);
  row.benchmark = "comm";
  row.axes = {{"collective", "all_reduce"}, {"ranks", "2"}, {"bytes", "4"}, {"cache", "cold"}};
  file.measurements.push_back(row);
  Machine machine;
  EXPECT_TRUE(left_out(std::vector{file}, machine, {}).empty());  // of another backend
  machine.measured_on.backend = "cuda";
  ASSERT_EQ(left_out(std::vector{file}, machine, {}).size(), 1U);
  EXPECT_EQ(to_text(left_out(std::vector{file}, machine, {}).front()),
            "1 row of bench comm, memory host (gradients lie in the device's)");
  file.measurements.back().axes["memory"] = "device";
  EXPECT_TRUE(left_out(std::vector{file}, machine, {}).empty());
}

TEST(LeftOut, RowsWithoutTimes) {
  EXPECT_EQ(why("conv", {}, Status::wrong), "1 row of bench conv, status wrong");
  EXPECT_EQ(why("comm", {}, Status::unsupported), "1 row of bench comm, status unsupported");
  EXPECT_EQ(why("io", {{"source", "page_cache"}}, Status::unstable), "");
}

TEST(LeftOut, KernelsThatTrainingDoesNotRun) {
  const Axes taken{{"backend", "onednn"}, {"cache", "cold"}};
  EXPECT_NE(why("conv", with(taken, "algorithm", "winograd")), "");
  EXPECT_NE(why("conv", with(taken, "layout", "nhwc")), "");
  EXPECT_EQ(why("conv", with(taken, "values", "zeros")), "1 row of bench conv, values zeros");
  EXPECT_EQ(why("conv", with(taken, "cache", "hot")),
            "1 row of bench conv, cache hot (chosen: cold)");
  EXPECT_EQ(why("conv", with(taken, "backend", "native")),
            "1 row of bench conv, backend native (chosen: onednn)");
  EXPECT_EQ(why("update", with(taken, "cache", "hot")),
            "1 row of bench update, cache hot (training has cold)");
  EXPECT_NE(why("memory", {{"operation", "copy"}, {"isa", "avx2"}}), "");
  EXPECT_EQ(why("io", {{"source", "storage"}}),
            "1 row of bench io, source storage (chosen: page_cache)");
}

TEST(LeftOut, MessagesThatTrainingDoesNotSend) {
  const Axes taken{
      {"collective", "all_reduce"}, {"bytes", "4096"}, {"ranks", "2"}, {"cache", "cold"}};
  EXPECT_EQ(why("comm", taken), "");
  EXPECT_EQ(why("comm", with(taken, "algorithm", "library")), "");
  EXPECT_EQ(why("comm", with(taken, "algorithm", "ring")), "");
  EXPECT_NE(why("comm", with(with(taken, "algorithm", "ring"), "collective", "reduce")), "");
  EXPECT_NE(why("comm", with(taken, "algorithm", "chain")), "");
  EXPECT_NE(why("comm", with(taken, "dtype", "bf16")), "");
  EXPECT_NE(why("comm", with(taken, "message", "3")), "");
  EXPECT_NE(why("comm", with(taken, "ranks", "1")), "");
  EXPECT_NE(why("comm", with(taken, "cache", "hot")), "");
  EXPECT_EQ(why("comm", {{"collective", "barrier"}, {"ranks", "2"}}),
            "1 row of bench comm, messages without a size");
}

TEST(LeftOut, RowsAreCountedByReason) {
  Measurement row;
  row.benchmark = "io";
  row.axes = {{"source", "storage"}};
  ResultFile file;
  file.measurements = {row, row};
  const std::vector<LeftOutRows> left = left_out(std::vector{file, file}, Machine(), {});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(to_text(left.front()), "4 rows of bench io, source storage (chosen: page_cache)");
}

TEST(LeftOut, AMachineOfNothingIsEmpty) {
  Machine machine;
  EXPECT_TRUE(is_empty(machine));
  machine.loaders.emplace_back();
  EXPECT_FALSE(is_empty(machine));
}

TEST(Fitted, NamesAllThatAMachineHas) {
  Machine machine;
  EXPECT_EQ(fitted_text(machine), "nothing");
  machine.kernels.resize(3);
  EXPECT_EQ(fitted_text(machine), "3 kernel times");
  machine.kernels.front().give.emplace();
  machine.update.resize(2);
  machine.h2d.resize(1);
  machine.memory_bandwidth["copy"];
  machine.loaders.resize(1);
  for (const char* collective : {"sendrecv", "all_reduce", "sendrecv"}) {
    machine.collectives.emplace_back().collective = collective;
  }
  machine.algorithms.resize(2);
  machine.reduction.emplace();
  machine.contention.resize(1);
  EXPECT_EQ(fitted_text(machine),
            "3 kernel times (1 with what launching takes), 2 update fits, 1 copy fit, 1 memory "
            "bandwidth, 1 loader fit, 1 all_reduce fit, 2 sendrecv fits, 2 closed forms of "
            "messages, the time to add a byte, 1 contention fit");
}

}  // namespace
}  // namespace dlscale::model
