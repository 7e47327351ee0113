// Case and prediction files that were damaged at random: each is read or refused, and whatever is
// read can be predicted and scored in finite numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cases/case_file.hpp"
#include "core/cases/prediction_file.hpp"
#include "core/error.hpp"
#include "model/baselines/baselines.hpp"
#include "report/score/score_report.hpp"
#include "tests/core/case_lines.hpp"
#include "tests/core/support.hpp"

namespace dlscale::report {
namespace {

using test::TemporaryFolder;

/// Damages texts; the same every time.
class Mutator {
 public:
  /// A copy with one to three mutations.
  std::string operator()(std::string text) {
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count && text.size() > 2; ++i) mutate(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  void mutate(std::string& text) {
    const std::size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        return;
      case 1:
        text.erase(at, 1 + below(below(8) == 0 ? text.size() : 4));
        return;
      case 2:
        text.insert(at, text.substr(below(text.size()), 1 + below(20)));
        return;
      case 3:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        return;
      case 4:
        swap_numbers(text);
        return;
      default:
        replace_number(text);
    }
  }

  using Span = std::pair<std::size_t, std::size_t>;  ///< begin and length

  /// Where numbers that are values stand.
  static std::vector<Span> numbers(const std::string& text) {
    std::vector<Span> found;
    for (std::size_t i = 1; i < text.size(); ++i) {
      const bool begins = std::isdigit(static_cast<unsigned char>(text[i])) != 0 &&
                          (text[i - 1] == ':' || text[i - 1] == ',' || text[i - 1] == '[');
      if (!begins) continue;
      const std::size_t end = text.find_first_not_of("0123456789.eE+-", i);
      found.emplace_back(i, (end == std::string::npos ? text.size() : end) - i);
      i += found.back().second;
    }
    return found;
  }

  void swap_numbers(std::string& text) {
    const std::vector<Span> all = numbers(text);
    if (all.size() < 2) return;
    Span first = all[below(all.size())];
    Span second = all[below(all.size())];
    if (second.first < first.first) std::swap(first, second);
    if (first.first == second.first) return;
    const std::string one = text.substr(first.first, first.second);
    const std::string other = text.substr(second.first, second.second);
    text.replace(second.first, second.second, one);
    text.replace(first.first, first.second, other);
  }

  void replace_number(std::string& text) {
    static constexpr std::array values{"0",     "-1",     "1",         "2",
                                       "1e-11", "1e9",    "1e15",      "1e17",
                                       "1e308", "1e-308", "1e999",     "NaN",
                                       "null",  "\"8\"",  "[]",        "{}",
                                       "0.5",   "true",   "100000000", "99999999999999999999"};
    const std::vector<Span> all = numbers(text);
    if (all.empty()) return;
    const Span chosen = all[below(all.size())];
    text.replace(chosen.first, chosen.second, values[below(values.size())]);
  }

  std::mt19937 random_{20261122};
};

void expect_finite(const Score& score) {
  for (const double number :
       {score.mean, score.median, score.bias, score.p90, score.max, score.coverage,
        score.width.value_or(0), score.rank_correlation.value_or(0)}) {
    EXPECT_TRUE(std::isfinite(number)) << number;
  }
}

std::vector<NamedPredictions> all_baselines(const cases::CaseFile& file) {
  std::vector<NamedPredictions> all;
  for (const auto& baseline : model::training_baselines()) {
    all.push_back({std::string(baseline.name), "", model::predict(baseline, file.trainings)});
  }
  for (const auto& baseline : model::curve_baselines()) {
    all.push_back({std::string(baseline.name), "", model::predict(baseline, file.curves)});
  }
  return all;
}

/// Whether there was anything to score.
bool predict_and_score(const cases::CaseFile& file) {
  const bool is_measured = std::ranges::any_of(
      file.outcomes, [](const auto& outcome) { return outcome.measured.has_value(); });
  if (!is_measured) return false;
  const std::vector<NamedPredictions> all = all_baselines(file);
  const ScoreReport report = score_report(file, all.front(), all, {.by = "id", .quality = ""});
  expect_finite(report.predictions.score.overall);
  for (const ScoredPredictions& baseline : report.baselines) {
    expect_finite(baseline.score.overall);
  }
  // Writes refuse what is not finite.
  EXPECT_FALSE(score_json(report, {}).empty());
  return true;
}

/// What became of the texts.
struct Tally {
  int read = 0;
  int refused = 0;
};

/// Reads so many damaged copies of a text by `read`; what it throws but ConfigError fails the test.
template <class Read>
Tally read_mutated(std::string_view text, int count, Read read) {
  const TemporaryFolder folder;
  Mutator mutated;
  Tally tally;
  for (int i = 0; i < count; ++i) {
    // Not written over: file systems make sure of that at once, which takes longer than all else.
    std::filesystem::remove(folder.path() / "mutated.jsonl");
    const auto path = folder.write("mutated.jsonl", mutated(std::string(text)));
    try {
      read(path);
      ++tally.read;
    } catch (const ConfigError& error) {
      ++tally.refused;
      const std::string message = error.what();
      EXPECT_NE(message.find("mutated.jsonl"), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
  EXPECT_GT(tally.read, count / 50);
  EXPECT_GT(tally.refused, count / 50);
  return tally;
}

TEST(MutatedCases, AreReadOrRefusedAndScoredInFiniteNumbers) {
  int scored = 0;
  for (const std::string_view line : {test::training_line, test::curve_line}) {
    const Tally tally = read_mutated(line, 4000, [&](const std::filesystem::path& path) {
      if (predict_and_score(cases::read_cases(path))) ++scored;
    });
    EXPECT_EQ(tally.read + tally.refused, 4000);
  }
  EXPECT_GT(scored, 100);
}

TEST(MutatedPredictions, AreReadOrRefusedAndWrittenAgainAsTheyWere) {
  const std::string text =
      R"({"id":"made/a-8gpu","samples_per_s":900.5,"low":800,"high":1000,"status":"ok",)"
      R"("terms":[{"name":"forward","time_s":0.1,"basis":"measured"}]})"
      "\n"
      R"({"id":"rings/a-r4","time_s":[0.00002,0.001],"low":[0.00001,0.0005],"high":[0.1,0.2]})"
      "\n"
      R"({"id":"made/b","status":"not_covered","reason":"fsdp"})"
      "\n";
  const TemporaryFolder folder;
  const cases::CaseFile file = cases::read_cases(folder.write("c.jsonl", test::training_line));
  read_mutated(text, 3000, [&](const std::filesystem::path& path) {
    const std::vector<cases::CasePrediction> read = cases::read_predictions(path);
    std::filesystem::remove(folder.path() / "again.jsonl");
    const auto again = folder.write("again.jsonl", cases::prediction_lines(read));
    EXPECT_EQ(cases::read_predictions(again), read);
    expect_finite(score_report(file, {"own", "", read}, {}, {}).predictions.score.overall);
  });
}

}  // namespace
}  // namespace dlscale::report
