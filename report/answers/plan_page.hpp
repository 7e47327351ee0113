#pragma once
#include <string>

#include "report/answers/answer_json.hpp"

namespace dlscale::report {

/// An answer of plan ("dlscale.plan"): the best training, the front of time against hours or cost,
/// and what other choices lose. Throws ConfigError that names the file for damage.
AnswerPage plan_page(const std::string& text, const std::string& file);

/// Its question, verdict and tiles alone.
Page plan_opening(const Json& answer);

/// A number of epochs: "90", "34.7".
std::string epochs_text(double epochs);

}  // namespace dlscale::report
