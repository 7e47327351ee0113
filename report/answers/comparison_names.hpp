#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/answers/answer_json.hpp"

namespace dlscale::report {

/// The key of a row, with its series unless that is a time. Throws ConfigError for a key without a
/// word, since its first one names the benchmark.
std::string full_name(const Json& row);

/// full_name() of all rows of a comparison.
std::vector<std::string> full_names(const Json& answer);

/// The words that all names of a benchmark have, by benchmark: their first word.
using SharedWords = std::map<std::string, std::set<std::string>>;
SharedWords shared_words(const std::vector<std::string>& names);

/// Names for people by full_name(): "alexnet, batch 32, 2 ranks, bucketed", without what all rows
/// of their benchmark share.
std::map<std::string, std::string> row_names(const Json& answer);

}  // namespace dlscale::report
