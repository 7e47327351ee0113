#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "tests/backend/compute/near_device.hpp"
#include "tests/backend/compute/remote_device.hpp"
#include "tests/core/support.hpp"
#include "tests/train/engine/failing_communicator.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "tests/train/engine/worker.hpp"
#include "train/exchange/host_copies.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {
namespace {

/// Training on a device with memory and a time line of its own.

using Make = std::unique_ptr<backend::ComputeDevice> (*)();

std::unique_ptr<backend::ComputeDevice> make_reference() {
  return open_backend("reference");
}

/// What rank 0 has after some iterations.
struct Trained {
  Gradients gradients;
  std::vector<float> parameters;
  std::vector<double> losses;
};

std::vector<float> parameters_of(const Program& program) {
  std::vector<float> all;
  for (const Layer& layer : program.network().layers()) {
    if (layer.parameter_count() == 0) continue;
    const auto part = program.plain_parameters(layer.id);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Trained train_on(Make make, const Network& network, int ranks, const TrainOptions& options) {
  Trained trained;
  on_ranks(ranks, [&](backend::Communicator& communicator) {
    const auto seed = static_cast<std::uint64_t>(communicator.rank());
    Worker worker(network, communicator, 2, options, seed, make());
    std::vector<double> losses;
    losses.reserve(4);
    for (int i = 0; i < 4; ++i) losses.push_back(worker.trainer->iterate().loss);
    worker.trainer->settle();
    if (communicator.rank() == 0) {
      trained = {worker.mean_gradients(), parameters_of(worker.program), losses};
    }
  });
  return trained;
}

TEST(TrainingOnARemoteDevice, ComputesWhatTheHostDoes) {
  for (const Network& network : {chain_network(), branched_network()}) {
    for (const int ranks : {1, 3}) {
      for (const Schedule schedule : all_schedules) {
        const Trained expected = train_on(make_reference, network, ranks, with(schedule));
        const Trained there = train_on(backend::make_remote_device, network, ranks, with(schedule));
        EXPECT_EQ(there.losses, expected.losses) << ranks << schedule_name(schedule);
        EXPECT_EQ(there.parameters, expected.parameters) << ranks << schedule_name(schedule);
        EXPECT_EQ(there.gradients, expected.gradients) << ranks << schedule_name(schedule);
      }
    }
  }
}

/// The loss of a batch, while the labels of the next one are set.
double loss_before_the_next_labels(Make make) {
  const Network network = chain_network();
  const auto device = make();
  Program program(network, *device, 2, DType::f32);
  program.initialise(1);
  const std::vector<float> images(std::size_t{2} * 3 * 8 * 8, 0.5F);
  const auto set = [&](std::int32_t label) {
    program.set_input(std::span<const float>(images), std::vector<std::int32_t>(2, label));
  };
  set(0);
  for (const Step step : program.forward_steps()) program.run(step, 0);
  set(1);
  return program.loss();
}

TEST(TrainingOnARemoteDevice, ReadsTheLabelsOfABatchBeforeTheyChange) {
  EXPECT_EQ(loss_before_the_next_labels(backend::make_remote_device),
            loss_before_the_next_labels(make_reference));
}

/// One rank of two whose messages arrive once a batch was asked for, and never before.
class ArrivesAfterABatch : public FailingCommunicator {
 public:
  explicit ArrivesAfterABatch(std::shared_future<void> asked_for)
      : FailingCommunicator(-1), asked_for_(std::move(asked_for)) {}
  void all_reduce(std::span<float>, backend::Reduction) override {
    if (asked_for_.wait_for(std::chrono::seconds(20)) == std::future_status::ready) return;
    throw LibraryError("no batch was asked for while gradients travelled.");
  }
  void all_reduce(std::span<double>, backend::Reduction) override {}
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<ArrivesAfterABatch>(*this);
  }

 private:
  std::shared_future<void> asked_for_;
};

TEST(TrainingOnARemoteDevice, TakesTheNextBatchBeforeTheGradientsHaveArrived) {
  for (const Schedule schedule : schedules) {
    const Network network = chain_network();
    const auto device = backend::make_remote_device();
    Program program(network, *device, 2, DType::f32);
    program.initialise(1);
    MadeData data(network, 2);
    std::promise<void> asked_for;
    ArrivesAfterABatch communicator(asked_for.get_future().share());
    int batches = 0;
    const auto next = [&]() -> const Batch& {
      if (++batches == 2) asked_for.set_value();
      return data.next();
    };
    Trainer trainer(program, communicator, next, with(schedule));
    EXPECT_NO_THROW(trainer.iterate()) << schedule_name(schedule);
    EXPECT_EQ(batches, 2) << schedule_name(schedule);
  }
}

TEST(TrainingOnARemoteDevice, ReplaysWhatItRecorded) {
  for (const int ranks : {1, 3}) {
    for (const Schedule schedule : schedules) {
      TrainOptions options = with(schedule);
      const Network network = branched_network();
      const Trained expected = train_on(backend::make_remote_device, network, ranks, options);
      options.launch = Launch::graph;
      const Trained replayed = train_on(backend::make_remote_device, network, ranks, options);
      EXPECT_EQ(replayed.losses, expected.losses) << ranks << schedule_name(schedule);
      EXPECT_EQ(replayed.parameters, expected.parameters) << ranks << schedule_name(schedule);
      EXPECT_EQ(replayed.gradients, expected.gradients) << ranks << schedule_name(schedule);
    }
  }
}

TEST(TrainingOnARemoteDevice, ComesToTheSameParametersByWayOfAServer) {
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
    TrainOptions options = with(schedule);
    const Trained expected = train_on(make_reference, chain_network(), 3, options);
    options.synchronisation = Synchronisation::parameter_server;
    options.settings.servers = 1;  // rank 0, which knows all gradients
    const Trained there = train_on(backend::make_remote_device, chain_network(), 3, options);
    EXPECT_EQ(there.losses, expected.losses) << schedule_name(schedule);
    EXPECT_EQ(there.parameters, expected.parameters) << schedule_name(schedule);
    EXPECT_EQ(there.gradients, expected.gradients) << schedule_name(schedule);
  }
}

/// Why a network is not trained by graphs; empty if it is.
std::string graph_refusal(const Network& network, Make make, bool spans = false,
                          Schedule schedule = Schedule::wait_free) {
  const auto alone = backend::local_group(1);
  TrainOptions options = with(schedule);
  options.launch = Launch::graph;
  options.record_spans = spans;
  try {
    const Worker worker(network, *alone.front(), 2, options, 1, make());
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(TrainingOnARemoteDevice, RefusesGraphsOfWhatTheyCannotHold) {
  const auto far = backend::make_remote_device;
  EXPECT_EQ(graph_refusal(chain_network(), far), "");
  EXPECT_EQ(graph_refusal(branched_network(), far), "");
  EXPECT_NE(graph_refusal(chain_network(), far, true).find("the trace"), std::string::npos);
  EXPECT_NE(graph_refusal(chain_network(), far, false, Schedule::priority).find("under priority"),
            std::string::npos);
  EXPECT_NE(graph_refusal(chain_network(), make_reference).find("computes on the host"),
            std::string::npos);
}

TEST(TrainingOnARemoteDevice, TellsPhasesThatAddUp) {
  on_ranks(2, [](backend::Communicator& communicator) {
    Worker worker(branched_network(), communicator, 2, with(Schedule::wait_free), 1,
                  backend::make_remote_device());
    for (int i = 0; i < 3; ++i) {
      const IterationRecord r = worker.trainer->iterate();
      const Seconds sum =
          r.io + r.h2d + r.forward + r.backward + r.exposed_comm + r.update + r.other;
      EXPECT_NEAR(sum.si(), r.total.si(), 1e-9);
      EXPECT_GT(r.forward, Seconds(0));
      EXPECT_GT(r.backward, Seconds(0));
      EXPECT_GE(r.update, Seconds(0));
    }
  });
}

TEST(TrainingOnARemoteDevice, ComputesTheSameTimedAsAWhole) {
  for (const Make make : {Make(make_reference), Make(backend::make_remote_device)}) {
    TrainOptions options = with(Schedule::wait_free);
    const Trained expected = train_on(make, branched_network(), 2, options);
    options.timing = Timing::iteration;
    const Trained whole = train_on(make, branched_network(), 2, options);
    EXPECT_EQ(whole.losses, expected.losses);
    EXPECT_EQ(whole.parameters, expected.parameters);
  }
}

TEST(TrainingOnARemoteDevice, TellsTheWholeWithoutItsPhases) {
  const auto alone = backend::local_group(1);
  TrainOptions options;
  options.timing = Timing::iteration;
  Worker worker(branched_network(), *alone.front(), 2, options, 1, backend::make_remote_device());
  for (int i = 0; i < 3; ++i) {
    const IterationRecord r = worker.trainer->iterate();
    EXPECT_GT(r.total, Seconds(0));
    EXPECT_EQ(r.forward + r.backward + r.update + r.other + r.io, Seconds(0));
  }
}

TEST(TrainingOnARemoteDevice, RecordsTheStepsInsideTheirPhases) {
  const auto alone = backend::local_group(1);
  TrainOptions options;
  options.record_spans = true;
  Worker worker(chain_network(), *alone.front(), 2, options, 1, backend::make_remote_device());
  worker.trainer->iterate();
  Seconds forward_start;
  Seconds backward_end;
  std::size_t steps = 0;
  const std::vector<Span> spans = worker.trainer->take_spans();
  for (const Span& span : spans) {
    if (span.name == "forward") forward_start = span.start;
    if (span.name == "backward") backward_end = span.start + span.duration;
  }
  for (const Span& span : spans) {
    if (span.lane != Span::Lane::compute) continue;
    ++steps;
    EXPECT_GE(span.start, forward_start);
    EXPECT_LE((span.start + span.duration).si(), backward_end.si() + 1e-9);
  }
  EXPECT_EQ(steps, worker.program.forward_steps().size() + worker.program.backward_steps().size());
}

TEST(TrainingOnARemoteDevice, RefusesABatchThatDoesNotFitThere) {
  const auto device = backend::make_remote_device();
  EXPECT_THROW(Program(chain_network(), *device, 4000000, DType::f32), ConfigError);
}

/// What each of two ranks throws in its trainer's making, where rank 1 gets memory of the host only
/// `left` times; nothing of one that throws nothing.
std::vector<std::string> thrown_where_memory_ends(const TrainOptions& options, int left) {
  std::vector<std::string> thrown(2);
  on_ranks(2, [&](backend::Communicator& communicator) {
    const bool is_short = communicator.rank() == 1;
    auto memory = std::make_shared<std::atomic<int>>(std::numeric_limits<int>::max());
    const auto device = backend::make_remote_device_with_host_memory(memory);
    const Network network = chain_network();
    Program program(network, *device, 2, DType::f32);
    program.initialise(1);
    MadeData data(network, 2);
    if (is_short) *memory = left;
    try {
      const Trainer trainer(
          program, communicator, [&data]() -> const Batch& { return data.next(); }, options);
    } catch (const Error& error) {
      thrown[communicator.rank()] = error.what();
    }
  });
  return thrown;
}

/// Or those that have the memory would wait for the one that has not. `buffers`: how many there are
/// at least, the first of which parameters travel through, gradients through those that follow.
void expect_begun_by_all_or_none(const TrainOptions& options, int buffers) {
  const std::vector<std::string> all_throw{"on rank 1: no more memory of the host",
                                           "no more memory of the host"};
  constexpr int many = 20;
  int left = 0;
  while (left < many && thrown_where_memory_ends(options, left) == all_throw) ++left;
  EXPECT_GE(left, buffers) << schedule_name(options.schedule);
  EXPECT_EQ(thrown_where_memory_ends(options, left), std::vector<std::string>(2))
      << schedule_name(options.schedule);
}

TEST(TrainingOnARemoteDevice, DoesNotBeginWhereOneRankLacksMemoryOfTheHost) {
  for (const Schedule schedule : all_schedules) {
    expect_begun_by_all_or_none(with(schedule), schedule == Schedule::sequential ? 1 : 2);
  }
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
    TrainOptions options = with(schedule);
    options.synchronisation = Synchronisation::parameter_server;
    expect_begun_by_all_or_none(options, 2);
  }
}

TEST(TheRemoteDevice, EndsTheProgramThatTouchesItsMemory) {
  const auto device = backend::make_remote_device();
  const backend::Buffer there = device->allocate(8);
  EXPECT_DEATH(there[0] = std::byte{1}, "");
}

TEST(TrainingOnARemoteDevice, RefusesRanksOfOtherLaunches) {
  std::vector<std::string> said(2);
  on_ranks(2, [&](backend::Communicator& communicator) {
    TrainOptions options = with(Schedule::wait_free);
    if (communicator.rank() == 1) options.launch = Launch::graph;
    try {
      const Worker worker(chain_network(), communicator, 2, options, 4,
                          backend::make_remote_device());
    } catch (const ConfigError& error) {
      said[communicator.rank()] = error.what();
    }
  });
  EXPECT_EQ(said[0], said[1]);
  EXPECT_NE(said[0].find("Give all ranks the same"), std::string::npos) << said[0];
}

TEST(Staging, LeavesMemoryOfTheHostWhereItIs) {
  const auto device = make_reference();
  const auto alone = backend::local_group(1);
  Staging staging(*device, *alone.front(), 10);
  std::vector<float> values(10, 1.0F);
  EXPECT_EQ(staging.fetch(values).data(), values.data());
}

/// What a program says that finds no room for that many images on a device.
std::string refusal(const Network& network, backend::ComputeDevice& device, int batch) {
  return test::config_error([&] { const Program program(network, device, batch, DType::f32); });
}

TEST(MemoryOfADevice, ThatShapesAloneFillIsRefusedBeforePlansAreChosen) {
  const Network network = chain_network();
  backend::NearDevice device;  // which can create no operation
  EXPECT_THROW(Program(network, device, 1, DType::f32), Unsupported);
  device.leave(1000);
  const std::string said = refusal(network, device, 1);
  EXPECT_NE(said.find("needs at least 0.00 GB on the device, but 0.00 of its 1.00 GB are free"),
            std::string::npos)
      << said;
}

TEST(MemoryOfADevice, IsNotSaidToBeTheHosts) {
  const Network network = chain_network();
  const auto bytes_of = [&network](int batch) {
    return Program(network, *open_backend("reference"), batch, DType::f32).memory().si();
  };
  const double image = (bytes_of(64) - bytes_of(32)) / 32;
  // A little more than the device has, so that only plans tell.
  const auto device = backend::make_remote_device();
  const auto batch = static_cast<int>(1.01 * device->own_memory().value().free.si() / image);
  const std::string said = refusal(network, *device, batch);
  EXPECT_NE(said.find(" GB on the device, but 1.00 of its 1.00 GB are free"), std::string::npos)
      << said;
  EXPECT_EQ(said.find("at least"), std::string::npos) << said;
  EXPECT_EQ(said.find("swap"), std::string::npos) << said;
  EXPECT_EQ(said.find("fewer ranks"), std::string::npos) << said;
}

/// Training on bytes that the device normalises.

constexpr int picture_batch = 2;

/// Random pictures, the same as bytes and as what the loader makes of such bytes.
class Pictures {
 public:
  Pictures(const Network& network, Normalisation form) : shape_(network.input()), form_(form) {
    bytes_.resize(static_cast<std::size_t>(shape_.elements() * picture_batch));
    floats_.resize(bytes_.size());
    for (int i = 0; i < picture_batch; ++i) labels_.push_back(i % network.classes());
  }

  const Batch& next() {
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(mix(++drawn_));
    const auto pixels = static_cast<std::size_t>(shape_.elements() / 3);
    const auto& [mean, deviation] = imagenet_statistics;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const std::size_t c = i % 3;
      const std::size_t at = (i / 3 / pixels * 3 + c) * pixels + i / 3 % pixels;
      const float scale = 1.0F / (255.0F * deviation[c]);
      floats_[at] = static_cast<float>(bytes_[i]) * scale - mean[c] / deviation[c];
    }
    if (form_ == Normalisation::device) {
      batch_.images = bytes_;
    } else {
      batch_.images = floats_;
    }
    batch_.labels = labels_;
    return batch_;
  }

 private:
  ImageShape shape_;
  Normalisation form_;
  std::uint64_t drawn_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
  std::vector<std::int32_t> labels_;
  Batch batch_;
};

struct TrainedOnPictures {
  std::vector<double> losses;
  std::vector<float> parameters;
};

TrainedOnPictures train_on_pictures(const Network& network, Normalisation form, Launch launch) {
  const auto device = backend::make_remote_device();
  const auto alone = backend::local_group(1);
  Program program(network, *device, picture_batch, DType::f32);
  program.initialise(4);
  Pictures pictures(network, form);
  TrainOptions options;
  options.launch = launch;
  Trainer trainer(
      program, *alone.front(), [&]() -> const Batch& { return pictures.next(); }, options);
  TrainedOnPictures trained;
  for (int i = 0; i < 4; ++i) trained.losses.push_back(trainer.iterate().loss);
  for (const Layer& layer : network.layers()) {
    if (layer.parameter_count() == 0) continue;
    const auto part = program.plain_parameters(layer.id);
    trained.parameters.insert(trained.parameters.end(), part.begin(), part.end());
  }
  return trained;
}

TEST(TrainingOnBytes, IsTrainingOnWhatTheHostMakesOfThem) {
  for (const Network& network : {chain_network(), branched_network()}) {
    for (const Launch launch : {Launch::eager, Launch::graph}) {
      const TrainedOnPictures host = train_on_pictures(network, Normalisation::host, launch);
      const TrainedOnPictures device = train_on_pictures(network, Normalisation::device, launch);
      EXPECT_EQ(device.losses, host.losses) << network.name() << launch_name(launch);
      EXPECT_EQ(device.parameters, host.parameters) << network.name() << launch_name(launch);
    }
  }
}

TEST(TrainingOnBytes, GivesTheSameInputOnThePathAndAhead) {
  const Network network = chain_network();
  const auto device = backend::make_remote_device();
  Program program(network, *device, picture_batch, DType::f32);
  program.initialise(4);
  Pictures bytes(network, Normalisation::device);
  Pictures floats(network, Normalisation::host);
  EXPECT_EQ(run_once(program, bytes.next()), run_once(program, floats.next()));
}

TEST(TrainingOnBytes, TakesAQuarterOfTheMemoryToStageThem) {
  const Network network = chain_network();
  const auto staged = [&](Normalisation form) {
    const auto device = backend::make_remote_device();
    Program program(network, *device, picture_batch, DType::f32);
    const Bytes before = program.memory();
    Pictures pictures(network, form);
    const Batch& batch = pictures.next();
    program.stage_input(batch.images, batch.labels);
    program.use_staged_input();
    program.synchronize();
    return (program.memory() - before).si();
  };
  EXPECT_EQ(staged(Normalisation::host), 4 * staged(Normalisation::device));
}

TEST(TrainingOnBytes, IsRefusedWhereTheDeviceComputesInHostMemory) {
  const auto host = open_backend("reference");
  EXPECT_NO_THROW(check_normalisation(*host, Normalisation::host));
  EXPECT_NO_THROW(check_normalisation(*backend::make_remote_device(), Normalisation::device));
  test::expect_contains(
      test::config_error([&] { check_normalisation(*host, Normalisation::device); }),
      "on the host");
  const Network network = chain_network();
  Program program(network, *host, picture_batch, DType::f32);
  Pictures pictures(network, Normalisation::device);
  const Batch& batch = pictures.next();
  EXPECT_THROW(program.set_input(batch.images, batch.labels), Unsupported);
}

}  // namespace
}  // namespace dlscale::train
