#pragma once
#include <string>

#include "report/answers/answer_json.hpp"

namespace dlscale::report {

/// An answer of predict ("dlscale.prediction" or "dlscale.sweep"): its fastest iteration, the
/// speed-up or the parts of the iterations, and the notes. Throws ConfigError that names the file
/// for damage.
AnswerPage prediction_page(const std::string& text, const std::string& file);

}  // namespace dlscale::report
