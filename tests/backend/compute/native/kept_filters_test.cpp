// Filters that a convolution keeps in the form in which it computes with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/compute.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/layers.hpp"

namespace dlscale::backend {
namespace {

class KeptFilters : public testing::Test {
 protected:
  std::unique_ptr<ComputeDevice> device = family<ComputeBackend>().find("native")->open({});
  OperationSpec spec =
      plain_spec(*device,
                 make_layer(Convolution{.out_channels = 17, .kernel_h = 3, .kernel_w = 3, .pad = 1},
                            {{20, 9, 9}}),
                 2, DType::f32);

  std::unique_ptr<Operation> operation(const std::string& name) {
    for (const Algorithm& algorithm : device->algorithms(spec, Pass::forward)) {
      if (algorithm.name == name) return algorithm.create();
    }
    throw std::logic_error("no algorithm " + name);
  }
};

std::vector<std::string> names_that_keep(ComputeDevice& device, const OperationSpec& spec,
                                         Pass pass) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : device.algorithms(spec, pass)) {
    if (algorithm.name.ends_with("_kept_filters")) names.push_back(algorithm.name);
  }
  return names;
}

void fill(const Tensor& tensor, float value) {
  std::fill_n(tensor.as<float>(), tensor.desc.elements(), value);
}

/// In the middle of an output, where all taps count.
float middle(const OperationMemory& memory) {
  return memory.output().as<float>()[4 * 9 + 4];
}

TEST_F(KeptFilters, AreUsedAgainAsLongAsTheVersionStays) {
  const auto names = names_that_keep(*device, spec, Pass::forward);
  ASSERT_GE(names.size(), 8U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto made = operation(name);
    ASSERT_GT(made->kept_bytes(), 0U);
    OperationMemory memory(*device, spec, *made);
    fill(memory.inputs().front(), 1);
    fill(memory.parameters().front(), 1);
    const float products = 20 * 9;
    const auto run = [&](std::uint64_t version) {
      made->run(Pass::forward, memory.operands(0, version));
      return middle(memory);
    };
    EXPECT_NEAR(run(1), products, 1e-2);
    fill(memory.parameters().front(), 2);
    EXPECT_NEAR(run(1), products, 1e-2);  // what was kept, as the caller said that they stay
    EXPECT_NEAR(run(2), 2 * products, 1e-2);
    fill(memory.parameters().front(), 3);
    EXPECT_NEAR(run(0), 3 * products, 1e-2);  // unknown: made anew, and of no use to the next
    fill(memory.parameters().front(), 4);
    EXPECT_NEAR(run(0), 4 * products, 1e-2);
    EXPECT_NEAR(run(2), 4 * products, 1e-2);
    Operands without = memory.operands(0, 2);
    without.kept = nullptr;
    fill(memory.parameters().front(), 5);
    made->run(Pass::forward, without);
    EXPECT_NEAR(middle(memory), 5 * products, 1e-2);
  }
}

TEST_F(KeptFilters, AreNotWhatTrainingUses) {
  EXPECT_EQ(device->create(spec)->kept_bytes(), 0U);
  EXPECT_EQ(operation("winograd_f4")->kept_bytes(), 0U);
  for (const Pass pass : {Pass::backward_data, Pass::backward_filter}) {
    EXPECT_TRUE(names_that_keep(*device, spec, pass).empty()) << pass_name(pass);
  }
}

TEST_F(KeptFilters, AreNamedInWhatRan) {
  const auto made = operation("winograd_f4_kept_filters");
  EXPECT_TRUE(made->implementation(Pass::forward).starts_with("kept filters+winograd F(4x4,3x3)"))
      << made->implementation(Pass::forward);
  EXPECT_TRUE(made->implementation(Pass::backward_data).starts_with("winograd"));
}

TEST_F(KeptFilters, AreRefusedWhereTheirSpectraAreTooLarge) {
  spec = plain_spec(
      *device,
      make_layer(Convolution{.out_channels = 2048, .kernel_h = 3, .kernel_w = 3, .pad = 1},
                 {{2048, 6, 6}}),
      1, DType::f32);
  try {
    (void)operation("fft_kept_filters");
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("keeps nothing"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dlscale::backend
