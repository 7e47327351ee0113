#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/cuda/equal_elements.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/layers.hpp"

/// What only a GPU does; skipped where there is none. What every device does is in
/// ../device_test.cpp and ../conformance_test.cpp.
namespace dlscale::backend {

extern const ComputeBackend cuda;
extern const ComputeBackend cuda_nchw;
extern const ComputeBackend reference;

namespace {

using testing::HasSubstr;

/// By its symbol: where GPUs are built apart, the family does not have them.
const ComputeBackend& backend_called(std::string_view name) {
  return name == cuda.name ? cuda : cuda_nchw;
}

/// The sentence of the ConfigError that `call` throws; empty if it throws none.
template <class Call>
std::string complaint_of(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

class CudaDevice : public testing::TestWithParam<std::string_view> {
 protected:
  static void SetUpTestSuite() { devices = std::make_unique<OpenedDevices>(); }
  static void TearDownTestSuite() { devices.reset(); }
  void SetUp() override {
    const OpenedDevice& opened = devices->of(backend_called(GetParam()));
    if (opened.device == nullptr) GTEST_SKIP() << opened.reason;
    device = opened.device.get();
  }
  static std::unique_ptr<OpenedDevices> devices;
  ComputeDevice* device = nullptr;
};

std::unique_ptr<OpenedDevices> CudaDevice::devices;

TEST_P(CudaDevice, SaysHowMuchMemoryItHasLeft) {
  const auto memory = device->own_memory();
  ASSERT_TRUE(memory.has_value());
  EXPECT_GT(memory->free, Bytes(0));
  EXPECT_LE(memory->free, memory->total);
  EXPECT_GT(memory->last_level_cache, Bytes(0));
  const auto more = static_cast<std::size_t>(2 * memory->total.si());
  EXPECT_THAT(complaint_of([&] { static_cast<void>(device->allocate(more)); }),
              HasSubstr("of memory left"));
}

TEST_P(CudaDevice, GivesARankBeyondTheGpusNone) {
  EXPECT_THAT(
      complaint_of([] { static_cast<void>(backend_called(GetParam()).open({.place = 1000})); }),
      HasSubstr("Launch at most"));
}

TEST_P(CudaDevice, NamesItsLibrariesAndTheGpu) {
  const auto libraries = device->libraries();
  for (const std::string name :
       {"CUDA driver", "CUDA runtime", "cuDNN", "cuBLASLt", "cuFFT", "GPU"}) {
    EXPECT_FALSE(libraries.at(name).empty()) << name;
  }
}

TEST_P(CudaDevice, CopiesBetweenAllPrecisionsAndKindsOfMemory) {
  const std::vector<float> values = shuffled(std::int64_t{2} * 3 * 5 * 7, 1);
  const TensorDesc plain = device->plain({2, 3, 5, 7}, DType::f32);
  const Buffer pinned = device->allocate_on_host(plain.layout.bytes);
  for (const DType dtype : all_dtypes) {
    const OperationSpec spec = chained_spec(*device, make_layer(Relu{}, {{3, 5, 7}}), 2, dtype);
    const Buffer there = device->allocate(spec.inputs.front().layout.bytes);
    const Tensor tensor{spec.inputs.front(), there.get()};
    write(*device, values, tensor);
    device->copy(tensor, {plain, pinned.get()});
    device->synchronize();
    const auto* from_pinned = reinterpret_cast<const float*>(pinned.get());
    EXPECT_EQ(read(*device, tensor), std::vector<float>(from_pinned, from_pinned + values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(from_pinned[i], values[i], 4e-3);
  }
}

TEST_P(CudaDevice, DropsByTheSeedInItsMemoryWhenWorkIsReplayed) {
  const OperationSpec spec =
      chained_spec(*device, make_layer(Dropout{.probability = 0.3}, {{32, 20, 20}}), 4, DType::f32);
  const auto operation = device->create(spec);
  OperationMemory memory(*device, spec, *operation);
  write(*device, std::vector<float>(51200, 1.0F), memory.inputs()[0]);
  const TensorDesc words = device->plain({2, 1, 1, 1}, DType::f32);
  const Buffer there = device->allocate(words.layout.bytes);
  const auto send = [&](std::uint64_t seed) {
    device->copy({words, reinterpret_cast<std::byte*>(&seed)}, {words, there.get()});
  };
  Operands operands = memory.operands(99);
  operands.seed_memory = reinterpret_cast<const std::uint64_t*>(there.get());
  operation->run(Pass::forward, operands);  // what runs for the first time may be loaded
  device->synchronize();
  const auto recording = device->record([&] { operation->run(Pass::forward, operands); });
  std::vector<std::vector<float>> drawn;
  for (const std::uint64_t seed : {1U, 2U}) {
    operation->run(Pass::forward, memory.operands(seed));
    const std::vector<float> expected = read(*device, memory.output());
    send(seed);
    recording->play();
    send(3);  // does not reach what is under way
    EXPECT_EQ(read(*device, memory.output()), expected);
    drawn.push_back(expected);
  }
  EXPECT_NE(drawn[0], drawn[1]);
}

TEST_P(CudaDevice, RefusesToRecordWhatALibraryFailsAtAndGoesOn) {
  const auto fail = [] { throw LibraryError("the engine failed"); };
  try {
    static_cast<void>(device->record(fail));
    ADD_FAILURE() << "recorded what failed";
  } catch (const Unsupported& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("the engine failed"));
  }
  const std::vector<float> values = shuffled(6, 1);
  const TensorDesc desc = device->plain({1, 1, 2, 3}, DType::f32);
  const Buffer there = device->allocate(desc.layout.bytes);
  write(*device, values, {desc, there.get()});
  EXPECT_EQ(read(*device, {desc, there.get()}), values);
}

TEST_P(CudaDevice, NormalisesPicturesThatWereCopiedAhead) {
  const PictureStatistics statistics{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  const TensorDesc plain = device->plain({2, 3, 5, 7}, DType::f32);
  constexpr std::size_t count = std::size_t{2} * 3 * 5 * 7;
  const Buffer pinned = device->allocate_on_host(count);
  const Buffer staged = device->allocate(count);
  const Buffer there = device->allocate(plain.layout.bytes);
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < count; ++i) pinned[i] = static_cast<std::byte>(i * 37 + round);
    device->copy_ahead(pinned.get(), staged.get(), count);
    device->join_copies();
    device->normalise(staged.get(), statistics, {plain, there.get()});
    const std::vector<float> got = read(*device, {plain, there.get()});
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t c = i % 3;
      const std::size_t at = (i / 105 * 3 + c) * 35 + i / 3 % 35;
      const double value = std::to_integer<int>(pinned[i]) / 255.0;
      EXPECT_NEAR(got[at], (value - double{statistics.mean[c]}) / double{statistics.deviation[c]},
                  1e-5);
    }
  }
}

struct Way {
  Convolution kind;
  ImageShape input;
};

TEST_P(CudaDevice, AnswersAsTheReferenceInEveryWayItOffers) {
  const auto host = reference.open({});
  const std::vector<Way> ways{
      {{.out_channels = 32, .kernel_h = 3, .kernel_w = 3, .pad = 1}, {16, 12, 12}},
      {{.out_channels = 32, .kernel_h = 1, .kernel_w = 1, .bias = false}, {64, 7, 7}}};
  for (const Way& way : ways) {
    for (const DType dtype : {DType::f32, DType::tf32, DType::bf16}) {
      const OperationSpec spec = chained_spec(*device, make_layer(way.kind, {way.input}), 3, dtype);
      for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
        int offered = 0;
        for (const Algorithm& algorithm : device->algorithms(spec, pass)) {
          try {
            const auto operation = algorithm.create();
            const OperationCheck check = check_operation(*device, *host, spec, *operation, pass, 1);
            EXPECT_LE(check.max_relative_error, allowed_error(dtype))
                << algorithm.name << ", " << pass_name(pass) << ", " << dtype_name(dtype);
            ++offered;
          } catch (const Unsupported&) {  // with a reason
          }
        }
        EXPECT_GT(offered, 0) << pass_name(pass) << " in " << dtype_name(dtype);
      }
    }
  }
}

/// In 16 bits several elements of a window are often the largest; training depends on whose the
/// gradient is.
TEST_P(CudaDevice, GivesTheGradientOfAMaximumToTheFirstOfEqualElements) {
  const auto host = reference.open({});
  for (const Layer& layer : max_poolings()) {
    const std::vector<float> expected =
        gradient_of_equal_elements(*host, plain_spec(*host, layer, 3, DType::f32));
    for (const DType dtype : all_dtypes) {
      const OperationSpec spec = chained_spec(*device, layer, 3, dtype);
      EXPECT_EQ(gradient_of_equal_elements(*device, spec), expected) << dtype_name(dtype);
    }
  }
}

const Tensor& result_of(const OperationMemory& memory, Pass pass) {
  if (pass == Pass::forward) return memory.output();
  return pass == Pass::backward_data ? memory.input_gradients()[0]
                                     : memory.parameter_gradients()[0];
}

/// Our own convolutions work with libraries that must not allocate or wait while they are recorded.
TEST_P(CudaDevice, ReplaysItsOwnConvolutions) {
  const Convolution kind{.out_channels = 32, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  const OperationSpec spec = chained_spec(*device, make_layer(kind, {{16, 12, 12}}), 3, DType::f32);
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    int replayed = 0;
    for (const Algorithm& algorithm : device->algorithms(spec, pass)) {
      if (algorithm.name.rfind("own ", 0) != 0) continue;
      const auto operation = algorithm.create();
      const OperationMemory memory(*device, spec, *operation);
      for (const Tensor& tensor :
           {memory.inputs()[0], memory.parameters()[0], memory.output_gradient()}) {
        write(*device, shuffled(tensor.desc.elements(), 1), tensor);
      }
      const auto run = [&] { operation->run(pass, memory.operands(0)); };
      run();
      const Tensor& result = result_of(memory, pass);
      const std::vector<float> expected = read(*device, result);
      const auto recording = device->record(run);
      device->clear(result.data, result.desc.layout.bytes);
      recording->play();
      EXPECT_EQ(read(*device, result), expected) << algorithm.name << ", " << pass_name(pass);
      ++replayed;
    }
    EXPECT_EQ(replayed, 4) << pass_name(pass);
  }
}

INSTANTIATE_TEST_SUITE_P(BothOrders, CudaDevice, testing::Values("cuda", "cuda_nchw"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace dlscale::backend
