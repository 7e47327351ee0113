#include "bench/conv/step_bench.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/layers.hpp"

/// Counts what vectors hold. The memory of devices that compute on the host is not among it: see
/// backend/compute/buffer.cpp.
namespace {

std::atomic<std::size_t> held{0};
std::atomic<std::size_t> most_held{0};

[[gnu::noinline]] void* take(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t now = held += malloc_usable_size(memory);
  std::size_t before = most_held;
  while (before < now && !most_held.compare_exchange_weak(before, now)) {
  }
  return memory;
}

[[gnu::noinline]] void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  held -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return take(bytes);
}
void* operator new[](std::size_t bytes) {
  return take(bytes);
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete[](void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  give_back(memory);
}

namespace dlscale::bench {
namespace {

using backend::make_layer, backend::plain_spec;

constexpr double megabyte = 1e6;

/// What a check of `layer` takes in vectors, beside what was there before.
double taken_by_check(const Layer& layer, int batch, Pass pass, CheckMemory& said) {
  const auto open = [] { return family<backend::ComputeBackend>().find("reference")->open({}); };
  const auto device = open();
  const auto reference = open();
  const backend::OperationSpec spec = plain_spec(*device, layer, batch, DType::f32);
  const auto operation = device->create(spec);
  said = check_memory(spec, *operation, pass);
  const std::size_t before = held;
  most_held = before;
  (void)check_operation(*device, *reference, spec, *operation, pass, 1);
  return static_cast<double>(most_held - before);
}

std::vector<Layer> layers() {
  return {make_layer(Convolution{.out_channels = 2, .kernel_h = 3, .kernel_w = 3, .pad = 1},
                     {{4, 48, 48}}),
          make_layer(Convolution{.out_channels = 24, .kernel_h = 1, .kernel_w = 1}, {{2, 40, 40}}),
          make_layer(FullyConnected{.outputs = 300}, {{500, 1, 1}})};
}

TEST(CheckMemory, IsNoLessThanWhatACheckHoldsAndNotFarFromIt) {
  for (const Layer& layer : layers()) {
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
      for (const int batch : {2, 24}) {
        CheckMemory said{};
        const double taken = taken_by_check(layer, batch, pass, said);
        const double most = std::max(said.beside, said.after).si();
        EXPECT_LE(taken, most + 0.1 * megabyte)
            << layer.name << " " << pass_name(pass) << " " << batch;
        if (taken < megabyte) continue;
        EXPECT_GE(taken, most / 5) << layer.name << " " << pass_name(pass) << " " << batch;
      }
    }
  }
}

TEST(CheckMemory, OfALargeBatchIsThatOfItsDataAndOfAResult) {
  const Layer layer = layers().front();
  const auto device = family<backend::ComputeBackend>().find("reference")->open({});
  const backend::OperationSpec spec = plain_spec(*device, layer, 64, DType::f32);
  const CheckMemory said = check_memory(spec, *device->create(spec), Pass::forward);
  const double x = 64.0 * 4 * 48 * 48;
  const double y = 64.0 * 2 * 48 * 48;
  const double w = 2 * 4 * 9;
  const double bias = 2;
  EXPECT_EQ(said.beside.si(), 4 * (x + y + w + bias + 2 * x));
  EXPECT_EQ(said.after.si(), 4 * (x + y + w + bias + x + 5 * ((x + y) * 3 / 64 + w + bias)));
}

}  // namespace
}  // namespace dlscale::bench
