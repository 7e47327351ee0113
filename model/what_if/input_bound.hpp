#pragma once
#include <string>

namespace dlscale::model {

struct Machine;
struct Prediction;

/// Explains an input-bound iteration: the limiting stage of the input pipeline, the part of the
/// devices' demand that it delivers, and what would be enough. Empty for other iterations.
std::string input_sentence(const Machine& machine, const Prediction& prediction);

}  // namespace dlscale::model
