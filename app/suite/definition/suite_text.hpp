#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config_file.hpp"

namespace dlscale::app {

/// The text of a suite file: words with {placeholders}, and what they stand for.

/// Placeholder → text, in which white space and quotes from outside are hidden.
using Values = std::map<std::string, std::string>;

/// For values from outside, such as the name of a folder: their white space does not end the word
/// they are filled into, and their quotes are letters of it.
std::string hide_spaces(const std::string& text);

/// What hide_spaces() was given.
std::string show_spaces(const std::string& text);

/// `text` with what its placeholders stand for. Throws ConfigError beginning with `where`.
std::string fill_in(const std::string& text, const Values& values, const std::string& where);

/// The most that a suite has of them: more are a slip in a table, and not what anybody waits for.
struct SuiteLimit {
  std::size_t most;
  std::string_view what;
};
inline constexpr SuiteLimit step_limit{10'000, "steps"};
inline constexpr SuiteLimit cell_limit{100'000, "cells"};

/// All combinations of the rows of the `for` table of a step or cell, if it has one; each with
/// `base`, too. More than the limit are refused before they fill the memory.
std::vector<Values> combinations(const ConfigMap& step, const Values& base,
                                 const SuiteLimit& limit);

/// A whole number that may be written with placeholders. Throws ConfigError.
int read_count(const ConfigMap& map, std::string_view key, const Values& values,
               IntegerRange range);

/// The words of that key, one at least. Throws ConfigError.
std::vector<std::string> read_words(const ConfigMap& map, std::string_view key,
                                    const Values& values);

/// The words of the key `command`, which begins with a verb of dlscale. Throws ConfigError.
std::vector<std::string> read_command(const ConfigMap& map, const Values& values);

/// The key `tags`, where it is there: words by which suites and cells are chosen, in which
/// placeholders may stand. Throws ConfigError.
std::set<std::string> read_tags(const ConfigMap& map, const Values& values);

/// With {out} as it stands in the suite, also where the data set lies in that folder: what a step
/// does is the same by whatever name the folder is called.
Values without_folder(Values values);

}  // namespace dlscale::app
