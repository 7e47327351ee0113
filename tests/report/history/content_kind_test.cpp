#include "regression/import/content_kind.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "histories.hpp"

namespace dlscale::report::history {
namespace {

ContentKind kind_of(const std::string& text) {
  std::istringstream content(text);
  return kind_of_content(content);
}

TEST(ContentKind, IsToldByTheOutermostKeys) {
  using enum ContentKind;
  const std::vector<std::pair<std::string, ContentKind>> texts{
      {R"({"version": 7, "run": {"schema": "x"}, "schema": "dlscale.result"})"
       "\n{\"end\": true}\n",
       result},
      {R"({"schema": "dlscale.validation", "runs": []})", validation},
      {R"({"schema": "dlscale.gate", "results": []})", unknown},
      {R"({"benchmarks": [], "context": {}})", google_benchmark},
      {R"( {"context": {"results": []}, "benchmarks": [NaN)", google_benchmark},
      {R"({"results": [{"command": "x"}]})", hyperfine},
      {R"({"results": {"a.time_x": 1}, "commit_hash": "c"})", unknown},
      {R"({"a": {"schema": "dlscale.result"}, "b": [{"context": 1, "benchmarks": 2}]})", unknown},
      {R"({"schema": 1})", unknown},
      {"{}", unknown},
      {"[]", unknown},
      {"null", unknown},
      {"", unknown},
      {"# nThread 1", nccl_tests},
      {":::MLLOG {}", mllog},
      {"elapsed time per iteration (ms): 1", unknown},
  };
  for (const auto& [text, kind] : texts) EXPECT_EQ(kind_of(text), kind) << text;
}

TEST(ContentKind, OfDamageIsWhatItsBeginningCallsFor) {
  using enum ContentKind;
  const std::vector<std::pair<std::string, ContentKind>> texts{
      {R"({"version": nonsense, "schema":"dlscale.result"})", result},
      {R"({"context": {"a": )", google_benchmark},
      {R"({"commit_hash": "c", "date": )", unknown},
      {R"({"results": )", hyperfine},
      {R"({"schema": "dlsc)", unknown},
      {"{", unknown},
  };
  for (const auto& [text, kind] : texts) EXPECT_EQ(kind_of(text), kind) << text;
}

TEST(ContentKind, ReadsNoMoreOfAFileThanTellsIt) {
  std::istringstream content(R"({"context": {}, "benchmarks": [)" + std::string(100'000, ' '));
  EXPECT_EQ(kind_of_content(content), ContentKind::google_benchmark);
  EXPECT_LT(content.tellg(), 100);
}

TEST(ContentKind, OfWhatIsNoFileIsUnknown) {
  const samples::TemporaryFolder folder;
  EXPECT_EQ(kind_of_file(folder.path()), ContentKind::unknown);
  EXPECT_EQ(kind_of_file(folder / "none.json"), ContentKind::unknown);
  samples::write_text(folder / "a.json", R"({"results": []})");
  EXPECT_EQ(kind_of_file(folder / "a.json"), ContentKind::hyperfine);
}

}  // namespace
}  // namespace dlscale::report::history
