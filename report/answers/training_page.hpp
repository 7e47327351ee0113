#pragma once
#include <string>

#include "report/answers/answer_json.hpp"

namespace dlscale::report {

/// Takes "dlscale.training_time" or "dlscale.training_cost" and shows the time of whole trainings
/// over ranks or plans, with failures where they were asked for. Throws ConfigError that names the
/// file for damage.
AnswerPage training_page(const std::string& text, const std::string& file);

/// Its question, verdict and tiles alone.
Page training_opening(const Json& answer);

}  // namespace dlscale::report
