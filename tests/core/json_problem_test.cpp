#include "core/text/json_problem.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

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

}  // namespace
}  // namespace dlscale
