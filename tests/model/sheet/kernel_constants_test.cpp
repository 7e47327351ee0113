#include "model/roofline/sheet/kernel_constants.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model::sheet {
namespace {

std::string text_of_file() {
  std::ifstream file(find_config("models", "kernels"));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a damaged copy of the file is refused with.
std::string refusal(const std::string& from, const std::string& to) {
  std::string text = text_of_file();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const test::TemporaryFolder folder;
  try {
    load_kernel_constants(folder.write("kernels.yaml", text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(KernelConstants, AreThoseOfTheFile) {
  const KernelConstants& constants = nominal_constants();
  for (const double part : {constants.efficiency, constants.convolution, constants.weight_gradient,
                            constants.memory_efficiency, constants.old_convolution}) {
    EXPECT_GT(part, 0.5);
    EXPECT_LT(part, 1);
  }
  EXPECT_GT(constants.kernel_overhead, 1e-6);
  EXPECT_LT(constants.kernel_overhead, 1e-4);
  EXPECT_LT(constants.interval_low, 0);
  EXPECT_GT(constants.interval_high, 0);
}

TEST(KernelConstants, AreRefusedWhereTheyContradictThemselves) {
  test::expect_contains(refusal("dlscale.kernel_times", "dlscale.scaling"), "another kind of file");
  test::expect_contains(refusal("version: 1", "version: 2"), "this program reads 1");
  test::expect_contains(refusal("strided:", "strides:"), "strides");
  test::expect_contains(refusal("e: {value: 0", "e: {value: 9"), "fitted/e");
  test::expect_contains(refusal("  low: -", "  low: "), "interval/low");
}

}  // namespace
}  // namespace dlscale::model::sheet
