#include <gtest/gtest.h>

#include <string>

#include "tests/backend/compute/remote_device.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "train/trainer.hpp"

/// Training on bytes that the device normalises.
namespace dlscale::train {
namespace {

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
  try {
    check_normalisation(*host, Normalisation::device);
    FAIL() << "reference was to normalise pictures";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("--normalize host"), std::string::npos);
  }
  const Network network = chain_network();
  Program program(network, *host, picture_batch, DType::f32);
  Pictures pictures(network, Normalisation::device);
  const Batch& batch = pictures.next();
  EXPECT_THROW(program.set_input(batch.images, batch.labels), Unsupported);
}

}  // namespace
}  // namespace dlscale::train
