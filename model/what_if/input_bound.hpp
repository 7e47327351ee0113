#pragma once
#include <string>

namespace dlscale::model {

struct Machine;
struct Prediction;

/// Explains an iteration that is bound by input: which stage of the input bounds it, what that stage
/// delivers of what the devices would take, and what would be enough. Empty for other iterations.
std::string input_sentence(const Machine& machine, const Prediction& prediction);

}  // namespace dlscale::model
