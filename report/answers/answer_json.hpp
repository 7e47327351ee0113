#pragma once
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "report/page/page.hpp"
#include "report/table/field_table.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A run that an answer suggests to ask more about.
struct SuggestedRun {
  std::string network;
  std::string cluster;  ///< empty if its times were measured
  std::string schedule;
  std::string bound;    ///< the bottleneck; may be empty
  std::string samples;  ///< "IMAGES", "SEQUENCES": in place of a number
  int ranks = 1;
  int batch = 1;
  /// Where its memory is short: the largest batch that fits, 0 if none does.
  std::optional<int> largest_batch = {};
};

/// A page about an answer in JSON without its next steps, and the answer for the screen and for
/// programs.
struct AnswerPage {
  Page page;
  Document document;
};

/// The page that `make` returns for the answer in `text`. Throws ConfigError that names the file
/// for damage; `what` says what it should hold: "predictions".
AnswerPage page_of_answer(const std::string& text, const std::string& file, const char* what,
                          const std::function<AnswerPage(const Json&)>& make);

/// The error for a damaged answer: `error` is of the parser, or says what is missing.
ConfigError unreadable_answer(const std::string& file, const char* what,
                              const std::exception& error);

/// A number of an object; absent if it is null or missing.
std::optional<double> number_in(const Json& object, const char* key);

/// A table of flat objects with a column for each of these keys that has a value somewhere. Units
/// follow from the endings of keys: "busy_s", "free_bytes", "share".
Table table_of_objects(const Json& objects, std::string title,
                       const std::vector<std::string>& keys);

/// Records of objects: a column for each of the keys that name the question, then for each value.
/// Null is an empty cell.
Table records_of_objects(const std::vector<Json>& objects, const std::vector<std::string>& keys,
                         const std::vector<std::string>& values);

}  // namespace dlscale::report
