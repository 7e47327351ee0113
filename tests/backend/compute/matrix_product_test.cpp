#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/precision.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/near_device.hpp"
#include "tests/core/support.hpp"

/// Matrix products of every backend that offers them, held against reference, and reference against
/// the definition.
namespace dlscale::backend {
namespace {

using Values = std::vector<float>;

Values random_values(std::int64_t count, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) value = rounded(dtype, normal(random));
  return values;
}

/// Memory of a device with plain values in it.
class Area {
 public:
  Area(ComputeDevice& device, Values values, DType dtype)
      : device_(&device),
        desc_(device.plain({1, 1, 1, static_cast<std::int64_t>(values.size())}, dtype)),
        plain_(device.plain(desc_.dims, DType::f32)),
        buffer_(device.allocate(desc_.layout.bytes)) {
    device.copy({plain_, reinterpret_cast<std::byte*>(values.data())}, tensor());
    device.synchronize();
  }
  [[nodiscard]] std::byte* data() const { return buffer_.get(); }
  [[nodiscard]] Values values() const {
    Values values(static_cast<std::size_t>(desc_.elements()));
    device_->copy(tensor(), {plain_, reinterpret_cast<std::byte*>(values.data())});
    device_->synchronize();
    return values;
  }

 private:
  [[nodiscard]] Tensor tensor() const { return {desc_, buffer_.get()}; }

  ComputeDevice* device_;
  TensorDesc desc_;
  TensorDesc plain_;
  Buffer buffer_;
};

/// What the product writes must not depend on what was there.
Values multiplied(ComputeDevice& device, const GemmShape& shape, DType dtype, const Values& a,
                  const Values& b) {
  const auto product = device.matrix_product(shape, dtype);
  const Area a_there(device, a, dtype);
  const Area b_there(device, b, dtype);
  const Area c_there(device, Values(static_cast<std::size_t>(shape.c_elements()), 7.0F), dtype);
  const Buffer scratch = device.allocate(product->scratch_bytes());
  product->run(a_there.data(), b_there.data(), c_there.data(), scratch.get());
  device.synchronize();
  EXPECT_FALSE(product->implementation().empty());
  return c_there.values();
}

double largest_error(const Values& got, const Values& expected) {
  double squares = 0;
  for (const float value : expected) squares += double{value} * value;
  const double typical = std::sqrt(squares / static_cast<double>(expected.size()));
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(double{got[i]} - double{expected[i]}) / typical;
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

TEST(ReferenceProduct, MultipliesRowsByColumns) {
  const auto reference = open_reference();
  const Values a{1, 2, 3, 4, 5, 6};  // 2 x 3
  const Values b{1, 0, 2, 1, 0, 3};  // 3 x 2
  EXPECT_EQ(multiplied(*reference, {2, 2, 3}, DType::f32, a, b), (Values{5, 11, 14, 23}));
}

TEST(ReferenceProduct, ReadsATransposedOperandAlongItsColumns) {
  const auto reference = open_reference();
  const Values a_turned{1, 4, 2, 5, 3, 6};
  const Values b_turned{1, 2, 0, 0, 1, 3};
  EXPECT_EQ(multiplied(*reference, {2, 2, 3, true, true}, DType::f32, a_turned, b_turned),
            (Values{5, 11, 14, 23}));
}

TEST(ReferenceProduct, TakesTheMatricesOfABatchOneAfterTheOther) {
  const auto reference = open_reference();
  EXPECT_EQ(multiplied(*reference, {1, 2, 1, false, true, 3}, DType::f32, {1, 2, 3},
                       {10, 20, 30, 40, 50, 60}),
            (Values{10, 20, 60, 80, 150, 180}));
}

TEST(ReferenceProduct, IsRefusedInOtherPrecisions) {
  for (const DType dtype : {DType::tf32, DType::bf16, DType::f16}) {
    EXPECT_THROW((void)open_reference()->matrix_product({1, 1, 1}, dtype), Unsupported);
  }
}

/// The words with which a device refuses a product of one element; empty where it has it.
std::string refusal_of(ComputeDevice& device, DType dtype) {
  try {
    (void)device.matrix_product({1, 1, 1}, dtype);
    return "";
  } catch (const Unsupported& refusal) {
    return refusal.what();
  }
}

TEST(MatrixProducts, AreRefusedByNameWhereADeviceHasNone) {
  NearDevice near;
  test::expect_contains(refusal_of(near, DType::f32), "near");
}

TEST(NativeProduct, IsThatOfOurConvolutionsOnOneThreadInF32) {
  const ComputeBackend* native = family<ComputeBackend>().find("native");
  if (native == nullptr) GTEST_SKIP() << "this build has no such backend";
  const auto device = native->open({});
  EXPECT_EQ(device->matrix_product({1, 1, 1}, DType::f32)->implementation(), "dnnl_sgemm");
  test::expect_contains(refusal_of(*device, DType::bf16), "bf16");
  test::expect_contains(refusal_of(*native->open({.threads = 2}), DType::f32),
                        "one thread, not on 2");
}

using Parameters = std::tuple<const ComputeBackend*, DType, std::string>;

class MatrixProductTest : public testing::TestWithParam<Parameters> {
 protected:
  static void SetUpTestSuite() { devices = std::make_unique<OpenedDevices>(); }
  static void TearDownTestSuite() { devices.reset(); }
  static std::unique_ptr<OpenedDevices> devices;
};

std::unique_ptr<OpenedDevices> MatrixProductTest::devices;

/// Of a sum of up to some hundred terms, and of the result rounded to the precision.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 1e-5;
    case DType::tf32:
      return 1e-3;
    case DType::bf16:
      return 3e-2;
    case DType::f16:
      return 5e-3;
  }
  fail_expectation("a known DType");
}

TEST_P(MatrixProductTest, GivesTheAnswersOfReferenceForAllTransposes) {
  const auto& [backend, dtype, sizes] = GetParam();
  const auto& [device, reason] = devices->of(*backend);
  if (device == nullptr) GTEST_SKIP() << reason;
  if (const auto why = why_without(*device, dtype); !why.empty()) GTEST_SKIP() << why;
  const auto reference = open_reference();
  for (const char* transposes : {":nn", ":nt", ":tn", ":tt"}) {
    for (const char* batch : {"", ":b3"}) {
      const std::string text = sizes + transposes + batch;
      const GemmShape shape = parse_gemm_shape(text, "a test");
      const Values a = random_values(shape.a_elements(), dtype, 1);
      const Values b = random_values(shape.b_elements(), dtype, 2);
      EXPECT_LE(largest_error(multiplied(*device, shape, dtype, a, b),
                              multiplied(*reference, shape, DType::f32, a, b)),
                tolerance(dtype))
          << text << " by " << device->matrix_product(shape, dtype)->implementation();
    }
  }
}

std::vector<Parameters> parameters() {
  std::vector<Parameters> all;
  for (const ComputeBackend* backend : family<ComputeBackend>().members) {
    for (const DType dtype : dtypes_of(*backend)) {
      for (const char* sizes : {"1x1x1", "1x7x13", "7x1x13", "7x13x1", "2x3x5", "16x16x16",
                                "31x37x41", "64x48x128", "127x129x67", "5x300x11", "300x5x11"}) {
        all.emplace_back(backend, dtype, sizes);
      }
    }
  }
  return all;
}

std::string parameter_name(const testing::TestParamInfo<Parameters>& info) {
  const auto& [backend, dtype, sizes] = info.param;
  return std::string(backend->name) + "_" + std::string(dtype_name(dtype)) + "_" + sizes;
}

INSTANTIATE_TEST_SUITE_P(AllBackends, MatrixProductTest, testing::ValuesIn(parameters()),
                         parameter_name);

}  // namespace
}  // namespace dlscale::backend
