#include "core/text/json_problem.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.hpp"
#include "core/results/json_count.hpp"

namespace dlscale {
namespace {

using Json = nlohmann::json;

std::string problem(std::string_view text, const std::function<void(const Json&)>& use = {}) {
  try {
    const Json json = Json::parse(text);
    if (use) use(json);
  } catch (const Json::exception& error) {
    return json_problem(error, text);
  }
  return "";
}

TEST(JsonProblem, NamesThePlaceThatIsNoJson) {
  EXPECT_EQ(problem("{\n  \"a\": 1,\n  \"b\": ?\n}"), "line 3, column 8 is not JSON");
  EXPECT_EQ(problem("hello"), "line 1, column 1 is not JSON");
  EXPECT_EQ(problem("{\"a\": 1,\n\"b\": [1,"), "it ends within line 2");
  EXPECT_EQ(problem(""), "it is empty");
  EXPECT_EQ(problem(" \n"), "it is empty");
}

TEST(JsonProblem, NamesWhatIsMissingOrOfAnotherType) {
  const auto at = [](const Json& json) { static_cast<void>(json.at("pass")); };
  EXPECT_EQ(problem("{}", at), "the key \"pass\" is missing");
  const auto text = [](const Json& json) { static_cast<void>(json.at("a").get<std::string>()); };
  EXPECT_EQ(problem("{\"a\": 1}", text),
            "a value is of the wrong type: string is needed, not number");
  EXPECT_EQ(problem("[]", at), "a value is of the wrong type");
}

TEST(JsonProblem, NeverShowsTheLibrarysOwnNames) {
  const std::string problem_text = problem("1e400");
  EXPECT_NE(problem_text.find("1e400"), std::string::npos) << problem_text;
  EXPECT_EQ(problem_text.find("json.exception"), std::string::npos) << problem_text;
}

TEST(JsonDepth, RefusesWhatWouldExhaustTheStackWhereverItStands) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(expect_json_depth(nested(500)));
  EXPECT_NO_THROW(expect_json_depth(R"({"name": "[[[[\"", "list": [[1], [2]]})"));
  EXPECT_NO_THROW(expect_json_depth("[\"" + std::string(1000, '[') + "\\\\\"]"));
  std::string flat;
  for (int i = 0; i < 1000; ++i) flat += "{\"a\": [1]}\n";
  EXPECT_NO_THROW(expect_json_depth(flat));
  for (const std::string& deep :
       {nested(501), "{\"a\": 1,\n\"b\": " + nested(300'000) + "}", std::string(501, '{')}) {
    EXPECT_THROW(expect_json_depth(deep), ConfigError);
  }
  try {
    expect_json_depth("{\n\"a\":" + nested(600) + "}");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "line 2 nests more than 500 levels deep, as no results do");
  }
}

TEST(JsonCount, IsAWholeNumberInAnyForm) {
  EXPECT_EQ(json_count<int>(nlohmann::json::parse("3"), "rounds"), 3);
  EXPECT_EQ(json_count<int>(nlohmann::json::parse("3.0"), "rounds"), 3);
  EXPECT_EQ(json_count<std::uint64_t>(nlohmann::json::parse("18446744073709551615"), "seed"), ~0ULL);
}

TEST(JsonCount, RefusesNumbersThatAnIntegerCannotHold) {
  for (const char* text : {"1e21", "-1", "2147483648", "2147483648.0", "0.5", "-1e300", "null",
                           "\"3\"", "[3]", "9223372036854775808"}) {
    EXPECT_THROW((void)json_count<int>(nlohmann::json::parse(text), "rounds"), ConfigError) << text;
  }
}

}  // namespace
}  // namespace dlscale
