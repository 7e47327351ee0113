#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config_file.hpp"

namespace dlscale::suite {

/// The text of a suite file: words with {placeholders}, and their values.

/// Placeholder → text; white space and quotes that come from outside are hidden.
using Values = std::map<std::string, std::string>;

/// Hides white space and quotes of a value from outside, such as a folder's name. The white space
/// then does not end the word it is filled into, and the quotes are ordinary characters.
std::string hide_spaces(const std::string& text);

/// The text before hide_spaces().
std::string show_spaces(const std::string& text);

/// `text` with its placeholders filled in. Throws ConfigError that begins with `where`.
std::string fill_in(const std::string& text, const Values& values, const std::string& where);

/// The maximum number of steps or cells in a suite; more come from a mistake in a table.
struct SuiteLimit {
  std::size_t most;
  std::string_view what;
};
inline constexpr SuiteLimit step_limit{10'000, "steps"};
inline constexpr SuiteLimit cell_limit{100'000, "cells"};

/// All combinations of the rows of the `for` table of a step or cell, if it has one, each added to
/// `base`. More than the limit are refused before they fill the memory.
std::vector<Values> combinations(const ConfigMap& step, const Values& base,
                                 const SuiteLimit& limit);

/// A whole number that may contain placeholders. Throws ConfigError.
int read_count(const ConfigMap& map, std::string_view key, const Values& values,
               IntegerRange range);

/// The words of a key; at least one. Throws ConfigError.
std::vector<std::string> read_words(const ConfigMap& map, std::string_view key,
                                    const Values& values);

/// The words of the key `command`, which begins with one of the verbs. Throws ConfigError.
std::vector<std::string> read_command(const ConfigMap& map, const Values& values,
                                      const std::vector<std::string>& verbs);

/// The optional key `tags`: words that select suites and cells, and may contain placeholders.
/// Throws ConfigError.
std::set<std::string> read_tags(const ConfigMap& map, const Values& values);

/// Replaces the output folder by {out}, also where the data set lies in it. So a step stays the
/// same if the folder is renamed.
Values without_folder(Values values);

}  // namespace dlscale::suite
