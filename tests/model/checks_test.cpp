// That every published figure of the formulas in question is held by a test, or said not to be.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/core/csv_fields.hpp"
#include "tests/model/checks_table.hpp"

namespace dlscale::model {
namespace {

TEST(Checks, AreHeldByTheTestsThatTheyName) {
  std::map<std::string, std::string> files;
  for (const Check& check : checks) {
    if (check.held_in.empty()) continue;
    const std::string name(check.held_in);
    if (!files.contains(name)) {
      std::ifstream file(DLSCALE_SOURCE_DIR "/tests/" + name);
      ASSERT_TRUE(file.is_open()) << name;
      files[name].assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    EXPECT_NE(files[name].find(check.id), std::string::npos) << check.id << " is not in " << name;
  }
}

TEST(Checks, SayWhatIsMissingWhereNothingHoldsThem) {
  std::set<std::string> held;
  std::set<std::string> left_out;
  for (const Check& check : checks) {
    (check.held_in.empty() ? left_out : held).emplace(check.id);
    EXPECT_FALSE(check.held_in.empty() && check.missing.empty()) << check.id;
  }
  EXPECT_EQ(held.size(), 108U);
  EXPECT_EQ(left_out, (std::set<std::string>{"C042", "C043", "C070", "C078", "C079", "C081", "C082",
                                             "C083"}));
}

/// Columns: id, section, quantity, inputs, expected, unit, tolerance, kind, …
TEST(Checks, AreAllThatThePublishedTableHas) {
  std::ifstream file(DLSCALE_SHARED_DATA "/design/checks.csv");
  if (!file) GTEST_SKIP() << "no table of checks here";
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
    // What is derived or a formula is held; only what was measured or claimed may be left out.
    if (found->second->held_in.empty()) {
      EXPECT_TRUE(fields[7] == "published_measured" || fields[7] == "published_claim") << fields[0];
    }
  }
  EXPECT_EQ(rows, known.size());
}

}  // namespace
}  // namespace dlscale::model
