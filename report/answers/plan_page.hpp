#pragma once
#include <string>

#include "report/answers/answer_json.hpp"

namespace dlscale::report {

/// An answer of plan ("dlscale.plan"): the best training, the front of time against hours or cost,
/// and what other choices lose. Throws ConfigError that names the file for damage.
AnswerPage plan_page(const std::string& text, const std::string& file);

}  // namespace dlscale::report
