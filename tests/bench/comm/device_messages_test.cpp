// Messages between memories of devices, on devices that need no GPU.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/compute/compute.hpp"
#include "backend/compute/host_device.hpp"
#include "bench/benchmark.hpp"
#include "bench/comm/measure.hpp"
#include "bench/comm/rotating_buffers.hpp"
#include "bench/comm/traffic.hpp"
#include "bench/conv/workbench.hpp"
#include "core/error.hpp"
#include "core/usable_rows.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/backend/compute/remote_device.hpp"
#include "tests/bench/comm/passing_communicator.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using testing::HasSubstr;

/// Says that its memory is its own, but the host can touch it: a communicator of the host takes it
/// as one of GPUs takes theirs.
class NearDevice : public backend::HostDevice {
 public:
  [[nodiscard]] std::string_view name() const override { return "near"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override { return {}; }
  [[nodiscard]] std::optional<backend::OwnMemory> own_memory() const override {
    return backend::OwnMemory{Bytes(1e9), Bytes(free_), Bytes(1e3)};
  }
  [[nodiscard]] backend::TensorDesc plain(std::array<std::int64_t, 4> /*dims*/,
                                          DType /*dtype*/) const override {
    throw Unsupported("no tensors");
  }
  [[nodiscard]] std::unique_ptr<backend::Operation> create(
      const backend::OperationSpec& /*spec*/) override {
    throw Unsupported("no operations");
  }
  void copy(const backend::Tensor& /*from*/, const backend::Tensor& /*to*/) override {}
  void accumulate(const backend::Tensor& /*value*/, const backend::Tensor& /*into*/) override {}
  void update(const backend::SgdStep& /*step*/, std::size_t /*n*/, float* /*weights*/,
              const float* /*gradients*/, float* /*momentum*/, std::uint16_t* /*low*/) override {}
  void leave(double bytes) { free_ = bytes; }

 private:
  double free_ = 1e9;
};

/// Takes memory of the rank's device, and tells of its calls.
class BetweenDevices : public PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  [[nodiscard]] std::string library() const override { return "between devices 1.0"; }
  [[nodiscard]] bool takes_device_memory() const override { return true; }
  [[nodiscard]] std::optional<backend::CallFacts> facts_of(
      const backend::CollectiveCall& call) override {
    backend::carry_out(*this, call);
    ++asked;
    return facts;
  }
  backend::CallFacts facts{Seconds(1e-6), "RING, LL, 2 channels", ""};
  int asked = 0;
};

/// One of which the last element of sums is wrong.
class WrongBetweenDevices : public BetweenDevices {
 public:
  using BetweenDevices::all_reduce;
  using BetweenDevices::BetweenDevices;
  void all_reduce(std::span<float> data, backend::Reduction op) override {
    BetweenDevices::all_reduce(data, op);
    if (rank() == 0) data.back() += 1;
  }
};

StoppingCriterion few_samples() {
  StoppingCriterion criterion;
  criterion.min_samples = criterion.max_samples = 6;
  criterion.min_warmup = Seconds(0);
  criterion.min_warmups = 1;
  return criterion;
}

Measurement measure(Communicator& ranks, const Message& message,
                    const std::shared_ptr<backend::ComputeDevice>& device, double rotation = 0) {
  const Sampler sampler(ranks, few_samples());
  return measure_traffic(message, {.rotation = Bytes(rotation), .device = device}, sampler);
}

Message message_of(const std::string& collective, std::size_t bytes = 4096) {
  Message message;
  message.collective = collective;
  message.bytes = bytes;
  return message;
}

void expect_times(const Measurement& row, const Message& message, int ranks) {
  EXPECT_TRUE(row.status == Status::ok || row.status == Status::unstable) << row.reason;
  ASSERT_TRUE(row.series.contains("time")) << row.reason;
  EXPECT_EQ(row.at("time").samples.size(), static_cast<std::size_t>(ranks));
  EXPECT_EQ(row.work.value().bytes.si(), static_cast<double>(message.bytes));
  EXPECT_EQ(row.max_relative_error, 0.0);
}

/// Of a device whose memory ends the program that touches it.
void measure_staged(Communicator& ranks) {
  const std::shared_ptr<backend::ComputeDevice> device = backend::make_remote_device();
  for (const char* collective : {"all_reduce", "broadcast"}) {
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{4092}, std::size_t{1} << 18U}) {
      for (const double rotation : {0.0, 1e5}) {
        const Message message = message_of(collective, bytes);
        const Measurement row = measure(ranks, message, device, rotation);
        expect_times(row, message, ranks.size());
        EXPECT_EQ(row.implementation, ranks.library() + std::string(staged_by_host));
        EXPECT_FALSE(row.series.contains("library_estimate"));
      }
    }
  }
}

TEST(DeviceMessages, GoByWayOfTheHostWhereTheCommunicatorTakesItsMemoryOnly) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  for (const int size : {2, 3}) backend::run_on_threads(size, measure_staged);
}

TEST(DeviceMessages, GoByWayOfTheHostBetweenTheRanksOfALauncher) {
  backend::Processes::run([](Communicator& ranks) {
    if (ranks.takes_device_memory()) GTEST_SKIP() << "this MPI takes memory of GPUs itself";
    if (ranks.size() > 1) measure_staged(ranks);
  });
}

TEST(DeviceMessages, ReachACommunicatorThatTakesThemWhereTheyLie) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    const auto device = std::make_shared<NearDevice>();
    BetweenDevices between(ranks);
    int measured = 0;
    for (const char* collective : {"all_reduce", "broadcast"}) {
      const Message message = message_of(collective);
      const Measurement row = measure(between, message, device, 1e4);
      expect_times(row, message, 2);
      EXPECT_EQ(row.implementation, "between devices 1.0: RING, LL, 2 channels");
      EXPECT_EQ(row.at("library_estimate").unit, "s");
      EXPECT_EQ(row.at("library_estimate").summary.median, 1e-6);
      EXPECT_EQ(between.asked, ++measured);  // beside what is timed
    }
    between.facts = {{}, "", "no plugin"};
    const Measurement row = measure(between, message_of("all_reduce"), device);
    EXPECT_EQ(row.implementation, "between devices 1.0");
    EXPECT_FALSE(row.series.contains("library_estimate"));
    EXPECT_THAT(row.warnings, testing::Contains("no plugin"));
  });
}

/// With as many GPUs as ranks; one rank sends nothing, but goes all the way.
TEST(DeviceMessages, GoByNcclBetweenGpus) {
  const backend::CommBackend* nccl = family<backend::CommBackend>().find("nccl");
  if (nccl == nullptr || family<backend::ComputeBackend>().find("cuda") == nullptr) {
    GTEST_SKIP() << "CUDA and NCCL are not in this build";
  }
  std::unique_ptr<Communicator> ranks;
  try {
    ranks = nccl->connect();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const std::shared_ptr<backend::ComputeDevice> device = open_device("cuda", 1, ranks->gpu());
  for (const char* collective : {"all_reduce", "broadcast"}) {
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{4000}, std::size_t{1} << 22U}) {
      const Message message = message_of(collective, bytes);
      const Measurement row = measure(*ranks, message, device, 1e8);
      expect_times(row, message, ranks->size());
      EXPECT_EQ(row.implementation.rfind(ranks->library(), 0), 0U) << row.implementation;
      EXPECT_EQ(row.series.contains("library_estimate"), ranks->size() > 1);
    }
  }
}

TEST(DeviceMessages, OfAWrongResultHaveNoTime) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    WrongBetweenDevices wrong(ranks);
    const Measurement row =
        measure(wrong, message_of("all_reduce"), std::make_shared<NearDevice>());
    EXPECT_EQ(row.status, Status::wrong);
    EXPECT_TRUE(row.series.empty());
    EXPECT_THAT(row.reason, HasSubstr("wrong on 1 of 2 ranks; rank 0: 1 element"));
  });
}

TEST(DeviceMessages, ThatTrainingDoesNotSendAreRefusedWithTheReason) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    const auto device = std::make_shared<NearDevice>();
    BetweenDevices between(ranks);
    const auto reason = [&](const Message& message) {
      const Measurement row = measure(between, message, device);
      EXPECT_EQ(row.status, Status::unsupported);
      EXPECT_TRUE(row.series.empty());
      EXPECT_EQ(row.implementation, "between devices 1.0");
      EXPECT_THAT(row.reason, HasSubstr("--memory host"));
      return row.reason;
    };
    for (const char* name : {"reduce", "all_gather", "reduce_scatter", "all_to_all", "sendrecv",
                             "bandwidth", "bidirectional", "pairs"}) {
      EXPECT_THAT(reason(message_of(name)),
                  HasSubstr("training hands a communicator no " + std::string(name)));
    }
    Message message = message_of("all_reduce");
    message.algorithm = "ring";
    EXPECT_THAT(reason(message), HasSubstr("ring by dlscale adds in memory of the host"));
    message = message_of("broadcast");
    message.type = backend::ElementType::bf16;
    EXPECT_THAT(reason(message), HasSubstr("as f32, not bf16"));
    message = message_of("all_reduce");
    message.mode = backend::Mode::persistent;
    EXPECT_THAT(reason(message), HasSubstr("blocking, not persistent"));
    message = message_of("all_reduce");
    message.placement = Placement::out_of_place;
    EXPECT_THAT(reason(message), HasSubstr("is done in place"));
  });
}

TEST(DeviceMessages, WithoutRoomOnOneDeviceAreRefusedOnAllRanks) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(3, [](Communicator& ranks) {
    const auto device = std::make_shared<NearDevice>();
    if (ranks.rank() == 1) device->leave(1e4);
    BetweenDevices between(ranks);
    const Measurement row = measure(between, message_of("all_reduce", 1 << 16), device);
    EXPECT_EQ(row.status, Status::unsupported);
    EXPECT_THAT(row.reason, HasSubstr("of the device's memory are free"));
  });
}

TEST(DeviceMessages, LieInBuffersThatAreFilledThere) {
  const auto device = backend::make_remote_device();
  const std::vector<std::byte> pattern{std::byte{1}, std::byte{2}, std::byte{3}};
  RotatingBuffers buffers(100, pattern, Bytes(1000), RotatingBuffers::Filled::every_turn,
                          device.get());
  EXPECT_EQ(buffers.count(), 9U);
  const std::unique_ptr<backend::Courier> courier = device->courier();
  std::vector<std::byte> seen(100);
  std::vector<const std::byte*> places;
  for (int turn = 0; turn < 18; ++turn) {
    const std::span<std::byte> buffer = buffers.next();
    ASSERT_EQ(buffer.size(), 100U);
    courier->carry(buffer.data(), seen.data(), seen.size());
    const std::size_t begin = static_cast<std::size_t>(turn % 9) * 128;  // in whole lines
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], pattern[(begin + i) % 3]) << i;
    std::fill(seen.begin(), seen.end(), std::byte{9});
    courier->carry(seen.data(), buffer.data(), seen.size());  // filled anew after a turn
    places.push_back(buffer.data());
  }
  EXPECT_EQ(places[0], places[9]);
  EXPECT_EQ(places[1] - places[0], 128);
}

TEST(DeviceMessages, NeedADeviceThatHasMemoryOfItsOwnAndNothingBeside) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  const Benchmark& comm = *family<Benchmark>().find("comm");
  backend::run_on_threads(2, [&](Communicator& ranks) {
    const auto complaint = [&](const std::map<std::string, std::string>& values) -> std::string {
      Context context = make_context(comm, values, ranks);
      try {
        static_cast<void>(comm.cells(context));
      } catch (const ConfigError& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_THAT(complaint({{"memory", "device"}, {"backend", "reference"}}),
                HasSubstr("--memory device needs a backend with memory of its own, and reference "
                          "computes in the host's"));
    EXPECT_THAT(complaint({{"memory", "host,device"}, {"beside", "memcpy"}}),
                HasSubstr("--beside is work of the processor"));
    EXPECT_THAT(complaint({{"memory", "gpu"}}), HasSubstr("Write host or device."));
    EXPECT_THAT(complaint({{"memory", "host"}, {"collectives", "barrier"}}),
                HasSubstr("--memory has no effect on barrier"));
    EXPECT_THAT(complaint({{"memory", "host"}, {"backend", "reference"}}),
                HasSubstr("--backend has no effect"));
    EXPECT_EQ(complaint({{"memory", "host"}, {"sizes", "4KiB"}}), "");
  });
}

TEST(DeviceMessages, AreOfCudaUnlessAnotherBackendIsNamed) {
  const Benchmark& comm = *family<Benchmark>().find("comm");
  const auto ranks = backend::local_group(1);
  const auto settled = [&](std::map<std::string, std::string> values) {
    const Context context = make_context(comm, std::move(values), *ranks.front());
    return std::pair(context.value("memory"), context.value("backend"));
  };
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(settled({}), Pair("host", "onednn"));
  EXPECT_EQ(settled({{"memory", "device"}}), Pair("device", "cuda"));
  EXPECT_EQ(settled({{"memory", "device"}, {"backend", "reference"}}), Pair("device", "reference"));
  EXPECT_EQ(settled({{"backend", "reference"}}), Pair("host", "reference"));
  const bool has_cuda = family<backend::ComputeBackend>().find("cuda") != nullptr;
  EXPECT_EQ(settled({{"backend", "cuda"}}), Pair(has_cuda ? "device" : "host", "cuda"));
}

TEST(DeviceMessages, OfTheHostHaveNoSuchAxis) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  const Benchmark& comm = *family<Benchmark>().find("comm");
  backend::run_on_threads(2, [&](Communicator& ranks) {
    Context context = make_context(comm, {{"memory", "host"}, {"sizes", "4KiB"}}, ranks);
    for (const Cell& cell : comm.cells(context)) EXPECT_FALSE(cell.axes.contains("memory"));
  });
}

}  // namespace
}  // namespace dlscale::bench
