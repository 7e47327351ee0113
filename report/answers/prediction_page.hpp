#pragma once
#include <string>

#include "report/answers/answer_json.hpp"
#include "report/page/blocks.hpp"

namespace dlscale::report {

/// An answer of predict ("dlscale.prediction" or "dlscale.sweep"): its fastest iteration, the
/// speed-up or the parts of the iterations, and the notes. Throws ConfigError that names the file
/// for damage.
AnswerPage prediction_page(const std::string& text, const std::string& file);

/// Its question, verdict and tiles alone.
Page prediction_opening(const Json& answer);

/// How good predictions in JSON are by their sources and intervals; `measured`: points moved them.
Badge prediction_badge(const Json& rows, bool measured);

/// Each note of predictions in JSON once, with the ranks to which it applies unless these are all.
Items prediction_notes(const Json& rows);

/// The fastest iteration of such an answer.
SuggestedRun suggested_run(const Json& answer);

}  // namespace dlscale::report
