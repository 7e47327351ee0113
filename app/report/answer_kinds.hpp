#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_json.hpp"
#include "report/page/page.hpp"

namespace dlscale::app {

/// A kind of answer in JSON that has a page.
struct AnswerKind {
  std::string_view schema;  ///< "dlscale.plan"
  report::AnswerPage (*page)(const std::string& text, const std::string& file);
  /// The commands that the page suggests; `text` is the answer.
  std::vector<report::NextStep> (*steps)(const std::string& text, const report::AnswerPage& made);
};

/// The kind of a file; null if it holds something else. Throws ConfigError for a kind without a
/// page, and says which command makes one.
const AnswerKind* answer_kind(const std::string& path);

}  // namespace dlscale::app
