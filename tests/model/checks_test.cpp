// That every published figure of the formulas in question is computed, or said not to be.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/core/csv_fields.hpp"
#include "tests/model/checks_table.hpp"
#include "tests/model/computed_checks.hpp"

namespace dlscale::model {

std::vector<double> numbers_in(std::string_view text) {
  static const std::regex number(R"(\d+(\.\d*)?([eE][-+]?\d+)?)");
  const std::string whole(text);
  std::vector<double> numbers;
  for (std::sregex_iterator at(whole.begin(), whole.end(), number), end; at != end; ++at) {
    numbers.push_back(std::stod(at->str()));
  }
  return numbers;
}

std::vector<double> row_of(std::string_view id) {
  for (const Check& check : checks) {
    if (check.id == id) return numbers_in(check.expected);
  }
  throw std::out_of_range(std::string(id) + " is not a row of checks_table.hpp");
}

namespace {

Rules all_rules() {
  Rules rules = iteration_rules();
  rules.merge(message_rules());
  rules.merge(training_rules());
  return rules;
}

TEST(Checks, AreWhatTheCodeComputes) {
  const Rules rules = all_rules();
  for (const Check& check : checks) {
    const auto rule = rules.find(check.id);
    if (rule == rules.end()) continue;
    const std::vector<double> row = numbers_in(check.expected);
    const Computed computed = rule->second(row);
    if (!computed.word.empty()) {
      EXPECT_EQ(computed.word, check.expected) << check.id;
      continue;
    }
    ASSERT_EQ(computed.numbers.size(), row.size()) << check.id << ": " << check.expected;
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_GE(row[i], computed.numbers[i].low) << check.id << ", number " << i;
      EXPECT_LE(row[i], computed.numbers[i].high) << check.id << ", number " << i;
    }
  }
}

TEST(Checks, AreComputedOrSayWhyNot) {
  const Rules rules = all_rules();
  std::set<std::string> left_out;
  for (const Check& check : checks) {
    if (rules.contains(check.id)) continue;
    left_out.emplace(check.id);
    EXPECT_FALSE(check.missing.empty()) << check.id << " has no computation and no reason";
  }
  EXPECT_EQ(left_out, (std::set<std::string>{"C042", "C043", "C070", "C081", "C082", "C083"}));
  EXPECT_EQ(rules.size() + left_out.size(), std::size(checks));  // no rule without a row
}

TEST(Checks, TakeTheNumbersOfARowApart) {
  EXPECT_EQ(numbers_in("a=9.5e-04 b=7e-10"), (std::vector<double>{9.5e-4, 7e-10}));
  EXPECT_EQ(numbers_in("6.01 -> 2.83 (33)"), (std::vector<double>{6.01, 2.83, 33}));
  EXPECT_TRUE(numbers_in("ring").empty());
}

/// Columns: id, section, quantity, inputs, expected, unit, tolerance, kind, …
TEST(Checks, AreAllThatThePublishedTableHas) {
  std::ifstream file(DLSCALE_SHARED_DATA "/design/checks.csv");
  if (!file) GTEST_SKIP() << "no table of checks here";
  const Rules rules = all_rules();
  std::map<std::string, const Check*> known;
  for (const Check& check : checks) known[std::string(check.id)] = &check;
  const std::set<std::string> sections{"1", "2", "3", "3.9", "3.10", "9", "10", "11"};
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = csv_fields(line);
    ASSERT_GE(fields.size(), 8U) << line;
    if (!sections.contains(fields[1])) continue;
    ++rows;
    const auto found = known.find(fields[0]);
    ASSERT_NE(found, known.end()) << fields[0];
    EXPECT_EQ(found->second->expected, fields[4]) << fields[0];
    // What is derived, measured or a formula is held; only what was claimed may be left out.
    if (!rules.contains(fields[0])) {
      EXPECT_EQ(fields[7], "published_claim") << fields[0];
    }
  }
  EXPECT_EQ(rows, known.size());
}

}  // namespace
}  // namespace dlscale::model
