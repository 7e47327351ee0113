#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/bench/e2e/setting.hpp"

namespace dlscale::bench {
extern const Benchmark overhead;

namespace {

TEST(Overhead, ComparesTheEngineWithItsPrimitives) {
  const Setting setting;
  const Measurement m = measure_on(1, overhead, setting.values()).front();
  for (const char* name : {"compute", "primitives", "ratio"}) {
    ASSERT_EQ(m.at(name).samples.size(), 1U);
    ASSERT_EQ(m.at(name).samples.front().size(), 6U);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const double compute = m.at("compute").samples[0][i];
    const double primitives = m.at("primitives").samples[0][i];
    EXPECT_GT(primitives, 0);
    EXPECT_DOUBLE_EQ(m.at("ratio").samples[0][i], compute / primitives);
  }
  EXPECT_EQ(m.series.size(), 3U);
}

TEST(Overhead, IsForOneRank) {
  const Setting setting;
  EXPECT_THROW(measure_on(2, overhead, setting.values()), ConfigError);
}

}  // namespace
}  // namespace dlscale::bench
