// Messages between memories of devices, on devices that need no GPU.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/compute/compute.hpp"
#include "bench/comm/choices.hpp"
#include "bench/comm/traffic/measure.hpp"
#include "bench/comm/traffic/rotating_buffers.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/backend/compute/near_device.hpp"
#include "tests/backend/compute/remote_device.hpp"
#include "tests/bench/comm/between_devices.hpp"
#include "tests/bench/comm/few_samples.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using backend::NearDevice;
using testing::HasSubstr;
using namespace std::string_view_literals;

/// Gives the first rank a sum that is wrong in its last element.
class WrongBetweenDevices : public BetweenDevices {
 public:
  using BetweenDevices::BetweenDevices;
  void all_reduce(std::span<float> data, backend::Reduction op) override {
    BetweenDevices::all_reduce(data, op);
    if (rank() == 0) data.back() += 1;
  }
};

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

constexpr std::array all_names{"all_reduce", "reduce",         "broadcast",
                               "all_gather", "reduce_scatter", "all_to_all"};

/// Of so many elements of each block.
Message blocks_of(const char* collective, std::size_t elements, int ranks) {
  return message_of(collective, 4 * elements * static_cast<std::size_t>(ranks));
}

/// Of a device whose memory ends the program that touches it.
void measure_staged(Communicator& ranks) {
  const std::shared_ptr<backend::ComputeDevice> device = backend::make_remote_device();
  for (const char* collective : all_names) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{1023}, std::size_t{1} << 15U}) {
      for (const Placement placement : {Placement::in_place, Placement::out_of_place}) {
        Message message = blocks_of(collective, elements, ranks.size());
        message.placement = placement;
        message.root = ranks.size() - 1;
        const Measurement row = measure(ranks, message, device, elements == 1023 ? 1e5 : 0);
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
    for (const char* collective : all_names) {
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
  for (const char* collective : all_names) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20U}) {
      Message message = blocks_of(collective, elements, ranks->size());
      message.placement = Placement::out_of_place;
      const Measurement row = measure(*ranks, message, device, 1e8);
      expect_times(row, message, ranks->size());
      EXPECT_EQ(row.implementation.rfind(ranks->library(), 0), 0U) << row.implementation;
      const bool estimated = ranks->size() > 1 && std::string_view(collective) != "all_to_all";
      EXPECT_EQ(row.series.contains("library_estimate"), estimated) << collective;
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

TEST(DeviceMessages, OfOtherKindsAreRefusedWithTheReason) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    const auto device = std::make_shared<NearDevice>();
    BetweenDevices between(ranks);
    const auto reason = [&](const Message& message) {
      const Measurement row = measure(between, message, device);
      EXPECT_EQ(row.status, Status::unsupported);
      EXPECT_TRUE(row.series.empty());
      EXPECT_EQ(row.implementation, "between devices 1.0");
      EXPECT_THAT(row.reason, HasSubstr("memories of the host"));
      return row.reason;
    };
    Message message = message_of("all_reduce");
    message.algorithm = "ring";
    EXPECT_THAT(reason(message), HasSubstr("ring by dlscale adds in memory of the host"));
    message = message_of("all_reduce");
    message.mode = backend::Mode::persistent;
    EXPECT_THAT(reason(message), HasSubstr("blocking, not persistent"));
    EXPECT_TRUE(between.prepared.empty());
  });
}

TEST(DeviceMessages, BetweenTwoRanksAreRefusedWhereTheyWouldGoByWayOfTheHost) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    for (const char* name : {"sendrecv", "bandwidth", "bidirectional", "pairs"}) {
      const Measurement row = measure(ranks, message_of(name), backend::make_remote_device());
      EXPECT_EQ(row.status, Status::unsupported);
      EXPECT_THAT(row.reason, HasSubstr(std::string(name) + " is messages between two ranks"));
      EXPECT_THAT(row.reason, HasSubstr("memories of the host"));
    }
  });
}

TEST(DeviceMessages, AreOfEveryTypeAndOperatorThatTheCommunicatorTakes) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    const auto device = std::make_shared<NearDevice>();
    BetweenDevices between(ranks);
    for (const backend::ElementType type : backend::element_types) {
      Message message = message_of("reduce_scatter");
      message.type = type;
      message.op = backend::Reduction::max;
      message.placement = Placement::out_of_place;
      expect_times(measure(between, message, device), message, 2);
    }
  });
}

TEST(DeviceMessages, AreOutOfPlaceInBlocksUnlessToldOtherwise) {
  const Choices unnamed;  // of the host's memory, too
  EXPECT_EQ(placements_for("all_reduce", unnamed), Words{"yes"});
  EXPECT_EQ(placements_for("reduce", unnamed), Words{"yes"});
  EXPECT_EQ(placements_for("reduce_scatter", unnamed), Words{"no"});
  EXPECT_EQ(placements_for("all_gather", unnamed), Words{"no"});
  EXPECT_EQ(placements_for("broadcast", unnamed), Words{""});
  Choices named;
  named.placements = {"yes", "no"};
  EXPECT_EQ(placements_for("all_to_all", named), named.placements);
  EXPECT_EQ(placements_for("sendrecv", named), Words{""});
}

/// What a communicator was asked for while messages of 4 KiB were measured once checked and twice
/// sampled: the calls of training (train/exchange/exchange.hpp,
/// train/exchange/gradient_reducer.hpp).
struct Asked {
  std::size_t sums = 0;        ///< all_reduce() of floats
  std::size_t broadcasts = 0;  ///< of so many bytes
  std::size_t prepared =
      0;  ///< as often as it is called, and once for each memory to see that it can
};

template <class To>
class Asking : public To {
 public:
  using To::To;
  void all_reduce(std::span<float> data, backend::Reduction op) override {
    ++asked.sums;
    To::all_reduce(data, op);
  }
  void broadcast(std::span<std::byte> data, Rank root) override {
    if (data.size() == 4096) ++asked.broadcasts;
    To::broadcast(data, root);
  }
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode mode) override {
    ++asked.prepared;
    return To::prepare(call, mode);
  }
  Asked asked;
};

/// Calls of once() after one use().
template <class To>
Asked asked_for(Communicator& ranks, const std::string& collective,
                const std::shared_ptr<backend::ComputeDevice>& device, int calls) {
  Asking<To> asking(ranks);
  Message message = message_of(collective);
  if (backend::in_blocks(*collective_named(collective))) {
    message.placement = Placement::out_of_place;
  }
  const auto traffic = make_device_traffic(asking, message, *device);
  const backend::Buffer memory = device->allocate(traffic->memory());
  traffic->use({memory.get(), traffic->memory()});
  for (int i = 0; i < calls; ++i) static_cast<void>(traffic->once());
  traffic->leave();
  return asking.asked;
}

template <class To>
void expect_calls_of_training(Communicator& ranks,
                              const std::shared_ptr<backend::ComputeDevice>& device) {
  constexpr std::size_t calls = 3;
  const Asked sums = asked_for<To>(ranks, "all_reduce", device, calls);
  EXPECT_EQ(sums.sums, calls);
  EXPECT_EQ(sums.prepared, 1U);
  const Asked broadcasts = asked_for<To>(ranks, "broadcast", device, calls);
  EXPECT_EQ(broadcasts.broadcasts, calls);
  EXPECT_EQ(broadcasts.prepared, 1U);
  for (const char* carried : {"reduce", "reduce_scatter", "all_gather"}) {
    const Asked asked = asked_for<To>(ranks, carried, device, calls);
    EXPECT_EQ(asked.prepared, 1 + calls) << carried;
    EXPECT_EQ(asked.sums + asked.broadcasts, 0U) << carried;
  }
}

TEST(DeviceMessages, AreSentByTheCallsOfTraining) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  backend::run_on_threads(2, [](Communicator& ranks) {
    expect_calls_of_training<BetweenDevices>(ranks, std::make_shared<NearDevice>());
    expect_calls_of_training<PassingCommunicator>(ranks, backend::make_remote_device());
  });
}

/// Counts messages of 4 KiB between two ranks, not those by which they meet.
class CountsMessages : public BetweenDevices {
 public:
  using BetweenDevices::BetweenDevices;
  void send(std::span<const std::byte> data, Rank to, int tag) override {
    if (data.size() == 4096) ++sent;
    BetweenDevices::send(data, to, tag);
  }
  void exchange(std::span<const backend::Outgoing> out,
                std::span<const backend::Incoming> in) override {
    EXPECT_TRUE(!out.empty() || !in.empty()) << "where do they lie?";
    sent += out.size();
    BetweenDevices::exchange(out, in);
  }
  std::size_t sent = 0;
};

TEST(DeviceMessages, BetweenTwoRanksReachACommunicatorThatTakesThem) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  for (const int size : {2, 3}) {
    backend::run_on_threads(size, [](Communicator& ranks) {
      const auto device = std::make_shared<NearDevice>();
      for (const char* name : {"sendrecv", "bandwidth", "bidirectional", "pairs"}) {
        CountsMessages between(ranks);
        const Message message = message_of(name);
        const Measurement row = measure(between, message, device, 1e4);
        expect_times(row, message, ranks.size());
        EXPECT_EQ(row.implementation, "between devices 1.0") << name;
        EXPECT_FALSE(row.series.contains("library_estimate")) << name;
        const bool is_last = ranks.rank() == ranks.size() - 1;
        const bool both_ways = name != "bandwidth"sv;
        const bool sends = ranks.rank() == 0 || (is_last && both_ways) || name == "pairs"sv;
        EXPECT_EQ(between.sent > 0, sends) << name << " on rank " << ranks.rank();
      }
    });
  }
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
  const std::unique_ptr<backend::CopyStream> copy_stream = device->copy_stream();
  std::vector<std::byte> seen(100);
  std::vector<const std::byte*> places;
  for (int turn = 0; turn < 18; ++turn) {
    const std::span<std::byte> buffer = buffers.next();
    ASSERT_EQ(buffer.size(), 100U);
    copy_stream->copy(buffer.data(), seen.data(), seen.size());
    const std::size_t begin = static_cast<std::size_t>(turn % 9) * 128;  // in whole lines
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], pattern[(begin + i) % 3]) << i;
    std::fill(seen.begin(), seen.end(), std::byte{9});
    copy_stream->copy(seen.data(), buffer.data(), seen.size());  // filled anew after a turn
    places.push_back(buffer.data());
  }
  EXPECT_EQ(places[0], places[9]);
  EXPECT_EQ(places[1] - places[0], 128);
}

TEST(DeviceMessages, NeedADeviceThatHasMemoryOfItsOwnAndNothingBeside) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  const Benchmark& comm = comm_benchmark();
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
                HasSubstr("--overlap-with is work of the processor"));
    EXPECT_THAT(complaint({{"memory", "gpu"}}), HasSubstr("Write host or device."));
    EXPECT_THAT(complaint({{"memory", "host"}, {"collectives", "barrier"}}),
                HasSubstr("--memory has no effect on barrier"));
    EXPECT_THAT(complaint({{"memory", "host"}, {"backend", "reference"}}),
                HasSubstr("--backend has no effect"));
    EXPECT_EQ(complaint({{"memory", "host"}, {"sizes", "4KiB"}}), "");
  });
}

TEST(DeviceMessages, AreOfCudaUnlessAnotherBackendIsNamed) {
  const Benchmark& comm = comm_benchmark();
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

TEST(DeviceMessages, OfARankAloneAreARowThatSaysWhatToStart) {
  if (family<backend::ComputeBackend>().find("cuda") == nullptr) {
    GTEST_SKIP() << "CUDA is not in this build";
  }
  const Benchmark& comm = comm_benchmark();
  const auto ranks = backend::local_group(1);
  Context context =
      make_context(comm, {{"memory", "host,device"}, {"sizes", "4KiB"}}, *ranks.front());
  std::vector<Cell> cells;
  try {
    cells = comm.cells(context);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_FALSE(cells[0].axes.contains("memory"));
  EXPECT_EQ(cells[1].axes.at("memory"), "device");
  const Measurement row = cells[1].measure(Sampler(*ranks.front(), few_samples()));
  EXPECT_EQ(row.status, Status::unsupported);
  EXPECT_THAT(row.reason, testing::HasSubstr("mpirun -n 2 "));
}

TEST(DeviceMessages, OfTheHostHaveNoSuchAxis) {
  if (backend::launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  const Benchmark& comm = comm_benchmark();
  backend::run_on_threads(2, [&](Communicator& ranks) {
    Context context = make_context(comm, {{"memory", "host"}, {"sizes", "4KiB"}}, ranks);
    for (const Cell& cell : comm.cells(context)) EXPECT_FALSE(cell.axes.contains("memory"));
  });
}

}  // namespace
}  // namespace dlscale::bench
