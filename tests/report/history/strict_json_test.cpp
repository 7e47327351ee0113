#include "regression/import/google_file.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::report::history {
namespace {

TEST(StrictJson, HasNullForBareWordsAndNotForThoseInStrings) {
  EXPECT_EQ(strict_json("[NaN, -NaN,Infinity,\n-Infinity]"), "[null, null,null,\nnull]");
  for (const std::string_view same :
       {R"({"NaN": "Infinity", "a\"NaN": "\\", "b": 1})", R"("\\\"NaN\\")", "[1e5, -2, true]",
        "[xNaN, NaN1, Nan, nan, Infinity_, 1NaN]", R"("not closed NaN)", R"("NaN\)", ""}) {
    EXPECT_EQ(strict_json(same), same);
  }
  EXPECT_EQ(strict_json(R"({"a\\": NaN})"), R"({"a\\": null})");
}

TEST(StrictJson, ChangesNothingThatIsJson) {
  std::mt19937 draw(7);
  const std::vector<std::string> pieces{"NaN", "Infinity", "-", "\\", "\"", "n", " ", ",", "é"};
  std::uniform_int_distribution<std::size_t> piece(0, pieces.size() - 1);
  for (int i = 0; i < 2000; ++i) {
    std::string name;
    for (int k = 0; k < 6; ++k) name += pieces[piece(draw)];
    const std::string text = nlohmann::json{{name, {{"value", name}}}, {"x", -1.5}}.dump(1);
    ASSERT_EQ(strict_json(text), text);
  }
}

}  // namespace
}  // namespace dlscale::report::history
