#pragma once
#include <string>

#include "report/answers/answer_json.hpp"

namespace dlscale::report {

/// An answer of compare ("dlscale.comparison"): whether B is slower than A, the rows that changed,
/// and the parts of iterations that did. Throws ConfigError that names the file for damage.
AnswerPage comparison_page(const std::string& text, const std::string& file);

}  // namespace dlscale::report
