#include "core/run/published_software.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/config/csv_table.hpp"
#include "core/run/framework_file.hpp"

namespace dlscale {
namespace {

std::string text_of(const PublishedSoftware& software) {
  const ComputeTraits& traits = software.traits;
  return fmt::format("{} {} {} {} {} {} {} {} {:g} {} {} {} {:g} {} {} {} {}",
                     traits.layout ? image_layout_name(*traits.layout) : "unknown",
                     traits.elementwise ? elementwise_name(*traits.elementwise) : "unknown",
                     traits.float_math ? "float" : "half",
                     traits.fused_attention ? "fused" : "unfused", launch_name(software.launch),
                     optimizer_name(traits.optimizer), update_kernels_name(traits.update),
                     decoded_tokens_name(traits.head), traits.tokens, traits.tokens_of_sequence,
                     traits.tokens_from_batch, traits.first_1x1_strided ? "v1" : "v1.5",
                     traits.libraries, traits.master_weights ? "master" : "half",
                     traits.frozen_norm ? "frozen" : "trained",
                     traits.input_gradient ? "yes" : "no", algorithm_search_name(traits.search));
}

TEST(PublishedSoftware, IsKnownByWhatTrainingsCallIt) {
  constexpr std::array<CsvColumn, 5> columns{
      {{"software"}, {"family"}, {"network"}, {"width"}, {"traits"}}};
  const CsvTable table(std::string(DLSCALE_SOURCE_DIR) + "/tests/data/cold_software.csv",
                       "names of software", columns);
  ASSERT_GT(table.size(), 80U);
  const std::vector<FrameworkProfile> profiles = load_frameworks();
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string name = table.text(row, "network");
    const NetworkInPrecision network{
        table.text(row, "family") == "cnn" ? NetworkFamily::cnn : NetworkFamily::transformer,
        table.text(row, "width") == "two_bytes" ? ElementWidth::two_bytes
                                                : ElementWidth::four_bytes,
        name};
    const PublishedSoftware found =
        published_software(profiles, table.text(row, "software"), network);
    EXPECT_TRUE(found.traits.stated) << table.place(row);
    EXPECT_EQ(text_of(found), table.text(row, "traits")) << table.place(row);
  }
}

TEST(PublishedSoftware, IsTheUsualOneWhereNobodyKnowsIt) {
  const std::vector<FrameworkProfile> profiles = load_frameworks();
  const NetworkInPrecision bert{NetworkFamily::transformer, ElementWidth::two_bytes, "BERT-Large"};
  const ComputeTraits traits = published_software(profiles, "own code", bert).traits;
  EXPECT_FALSE(traits.stated);
  EXPECT_EQ(traits.optimizer, Optimizer::adam);
}

TEST(PublishedSoftware, HasLibrariesOfBeforeItsRelease) {
  const std::vector<FrameworkProfile> profiles = load_frameworks();
  const NetworkInPrecision resnet{NetworkFamily::cnn, ElementWidth::four_bytes, "ResNet-50"};
  const auto libraries = [&](std::string_view text, std::optional<ReleaseMonth> released) {
    return published_software(profiles, text, resnet, released).traits.libraries;
  };
  EXPECT_NEAR(libraries("TensorFlow 1.8", ReleaseMonth{2018, 4}), 2017.85, 1e-9);
  EXPECT_NEAR(libraries("own code", ReleaseMonth{2018, 4}), 2017.85, 1e-9);
  const double usual = usual_traits(NetworkFamily::cnn).libraries;
  EXPECT_EQ(libraries("PyTorch 2.1", ReleaseMonth{2023, 10}), usual);
  EXPECT_EQ(libraries("PyTorch", {}), usual);
}

TEST(PublishedSoftware, OfOneBenchmarkIsNotThatOfItsRelease) {
  const std::vector<FrameworkProfile> profiles = load_frameworks();
  const NetworkInPrecision resnet{NetworkFamily::cnn, ElementWidth::four_bytes, "ResNet-50"};
  EXPECT_TRUE(published_software(profiles, "TensorFlow 1.12.0", resnet).traits.frozen_norm);
  EXPECT_FALSE(published_software(profiles, "TensorFlow 1.12", resnet).traits.frozen_norm);
}

TEST(Optimizers, KeepAsManyNumbersAsTheirRulesRead) {
  EXPECT_EQ(optimizer_states(Optimizer::none), 0);
  EXPECT_EQ(optimizer_states(Optimizer::accumulate), 0);
  EXPECT_EQ(optimizer_states(Optimizer::sgd), 0);
  EXPECT_EQ(optimizer_states(Optimizer::momentum), 1);
  EXPECT_EQ(optimizer_states(Optimizer::adam), 2);
  EXPECT_EQ(optimizer_states(Optimizer::lamb), 2);
}

}  // namespace
}  // namespace dlscale
