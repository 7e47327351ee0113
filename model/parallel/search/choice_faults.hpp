#pragma once
#include <string>

#include "model/parallel/search/question.hpp"

namespace dlscale::model::parallel_search {

/// Why no plan can have what a question asks for along one axis, in a sentence with what to do:
/// "tensor 3 does not divide the 64 GPUs. …". Empty where each axis by itself has a value that
/// goes.
std::string choice_fault(const SearchQuestion& question);

}  // namespace dlscale::model::parallel_search
