#pragma once
#include <string>

#include "report/answers/answer_json.hpp"
#include "report/parallel/parallel_rows.hpp"

namespace dlscale::report {

// Pages of answers on parallel plans. `text` is JSON of predict or plan, `file` its
// name in errors. They throw ConfigError for JSON that lacks a key or holds another type.
// The opening of a page is its question, verdict and tiles alone: figures and sections are absent.

/// Takes "dlscale.parallel_prediction", "dlscale.stages", "dlscale.stages_explanation" or
/// "dlscale.branch_prediction" and shows where the time of an iteration goes.
AnswerPage parallel_prediction_page(const std::string& text, const std::string& file);
Page parallel_prediction_opening(const Json& answer);

/// Takes "dlscale.parallel_plan" and shows the best plan, and time against memory.
AnswerPage parallel_plan_page(const std::string& text, const std::string& file);
Page parallel_plan_opening(const Json& answer);

/// The plan of "dlscale.parallel_plan" that needs least memory of those within its "close_share" of
/// the best; nullptr if that is the best.
const Json* leanest_close(const Json& answer);
/// "5 %": that share.
std::string close_text(const Json& answer);

/// Takes "dlscale.parallel_explanation" or "dlscale.explanation", of networks with or without
/// plans, and shows which changes help.
AnswerPage explanation_page(const std::string& text, const std::string& file);
Page explanation_opening(const Json& answer);

/// Takes "dlscale.parallel_memory", "dlscale.parallel_fit", "dlscale.stages_memory" or
/// "dlscale.memory" and shows memory by kind where they state it.
AnswerPage memory_page(const std::string& text, const std::string& file);
Page memory_opening(const Json& answer);

/// Whether no rank of "dlscale.memory" can hold the network, whatever its batch.
bool fits_no_batch(const Json& answer);

}  // namespace dlscale::report
