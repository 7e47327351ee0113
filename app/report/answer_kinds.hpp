#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_json.hpp"
#include "report/page/page.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// A kind of answer in JSON that has a page.
struct AnswerKind {
  std::string_view schema;  ///< "dlscale.plan"
  report::AnswerPage (*page)(const std::string& text, const std::string& file);
  /// Question, verdict and tiles of the page; null if terminals open otherwise.
  report::Page (*opening)(const report::Json& answer);
  /// The commands that the page suggests.
  std::vector<report::NextStep> (*steps)(const report::Json& answer);
};

/// The kind of a file; null if it holds something else. Throws ConfigError for a kind without a
/// page, and says which command makes one.
const AnswerKind* answer_kind(const std::string& path);

/// The page of an answer of this kind, with its next steps; `file` names it in errors. Throws
/// ConfigError for damage.
report::AnswerPage answer_page(const AnswerKind& kind, const std::string& text,
                               const std::string& file);

/// The steps whose commands run as typed, which suit a terminal; at most 3.
std::vector<report::NextStep> steps_to_type(std::vector<report::NextStep> steps);

/// Adds what the page of the answer opens with: the verdict and the next commands. An answer
/// without a page keeps its own verdict, and one without a summary all. Its JSON states the options
/// that it was asked with.
void open_like_page(report::Document& answer);

}  // namespace dlscale::app
