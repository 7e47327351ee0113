#pragma once
#include <string>

#include "model/parallel/search/split_search.hpp"

namespace dlscale::model::parallel_search {

/// Why no plan of a search can be, by the first key of its choices that leaves none: a plan that
/// goes without this key, with the key, and what `predict` says of that. "No plan can be on 64 GPUs
/// as asked, such as data=8,tensor=8,micro_batch=3: micro_batch is 3, …". Empty where none can be
/// whatever the choices, and where it takes too long to find out. `node_gpus` ≥ 1: GPUs of a node.
std::string impossible_choice(const SearchContext& context, int node_gpus);

/// Why plans with one of the schedules asked for are none of any framework's, whatever else they
/// have; empty where there is one, or no schedule is asked for. A plan of one stage has none of
/// them.
std::string unrun_schedule(const SearchContext& context);

}  // namespace dlscale::model::parallel_search
