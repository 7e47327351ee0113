#include "model/roofline/sheet/kernel_constants.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

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

/// The number after `key` and `value:` in the text of the file.
double written(std::string_view section, std::string_view key) {
  const std::string text = text_of_file();
  auto at = text.find("\n" + std::string(section) + ":");
  at = text.find("\n  " + std::string(key) + ": {value: ", at);
  EXPECT_NE(at, std::string::npos) << key;
  return std::stod(text.substr(text.find("value: ", at) + 7));
}

TEST(KernelConstants, AreThoseOfTheFile) {
  const KernelConstants& constants = nominal_constants();
  for (const ConstantKey& one : fitted_constants()) {
    EXPECT_EQ(constants.*one.value, written("fitted", one.key)) << one.key;
  }
  EXPECT_EQ(constants.roof_power, written("fixed", "power"));
  EXPECT_EQ(constants.shared_reads, written("fixed", "shared"));
  EXPECT_EQ(constants.filtered_5x5, written("fixed", "filtered_5x5"));
  EXPECT_EQ(constants.tiles.size(), 10U);
  EXPECT_EQ(constants.tiles.front().rows, 256);
  EXPECT_EQ(constants.tiles.front().columns, 128);
  EXPECT_EQ(constants.splits, (std::vector<double>{1, 4, 16, 64}));
  EXPECT_LT(constants.interval_low, 0);
  EXPECT_GT(constants.interval_high, 0);
  EXPECT_EQ(constants.power_weight, 0);
}

TEST(KernelConstants, OfProductsAloneReplaceThoseOfTrainings) {
  const KernelFile file = load_kernel_file(find_config("models", "kernels"));
  const KernelConstants constants = alone(file);
  EXPECT_EQ(constants.efficiency, written("kernels", "e"));
  EXPECT_EQ(constants.power_weight, written("kernels", "board"));
  EXPECT_EQ(constants.tensor_reads, file.constants.tensor_reads_alone);
  EXPECT_EQ(constants.convolution, file.constants.convolution);
}

TEST(KernelConstants, AreRefusedWhereTheyContradictThemselves) {
  test::expect_contains(refusal("dlscale.kernel_times", "dlscale.scaling"), "another kind of file");
  test::expect_contains(refusal("version: 2", "version: 1"), "this program reads 2");
  test::expect_contains(refusal("strided:", "strides:"), "strides");
  test::expect_contains(refusal("e: {value: 0", "e: {value: 9"), "fitted/e");
  test::expect_contains(refusal("  low: -", "  low: "), "interval/low");
  test::expect_contains(refusal("  one: ", "  several_gpus: banana\n  one: "), "several_gpus");
  test::expect_contains(refusal("256x128", "256 by 128"), "no list of tiles");
  test::expect_contains(refusal("[1, 4, 16", "[1, 16, 4"), "not ascending from 1");
  test::expect_contains(refusal(", source: \"each tensor", ", reason: \"each tensor"), "reason");
  test::expect_contains(refusal("trainings: 44", "trainings: banana"), "trainings");
}

std::string loaded_with(std::string_view section) {
  const test::TemporaryFolder folder;
  const KernelFile file = load_kernel_file(
      folder.write("kernels.yaml", with_section(text_of_file(), "without", section)));
  std::string names;
  for (const auto& [set, constants] : file.without) {
    names += fmt::format("{} {} {};", set, constants.efficiency, constants.interval_high);
  }
  return names;
}

TEST(KernelConstants, HaveFitsWithoutASet) {
  const std::string fitted = "fitted: {e: 0.9, conv: 1, convw: 1, t0: 1e-5, em: 1, w: 1, old: 1}";
  const std::string interval =
      "interval: {one: -2, half: 0, transformer: 0, old: 0, low: -1, high: 3}";
  EXPECT_EQ(loaded_with("without:\n  - {set: one, " + fitted + ", " + interval + "}\n"),
            "one 0.9 3;");
  EXPECT_EQ(loaded_with(""), "");
}

TEST(KernelConstants, LeaveOtherSectionsAsTheyAre) {
  const std::string text = "a: 1  # one\nb:\n  - 2\n# of c\nc: 3\n";
  EXPECT_EQ(with_section(text, "c", "c: 4\n"), "a: 1  # one\nb:\n  - 2\n# of c\nc: 4\n");
  EXPECT_EQ(with_section(text, "a", "a: 4\n"), "a: 4\nb:\n  - 2\n# of c\nc: 3\n");
  EXPECT_EQ(with_section(text, "d", "d: 4\n"), text + "d: 4\n");
}

}  // namespace
}  // namespace dlscale::model::sheet
