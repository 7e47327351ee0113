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

/// Placeholder → text.
using Values = std::map<std::string, std::string>;

/// The placeholders that a text may have.
struct Placeholders {
  Values rows;     ///< of `for` tables: parts of the file, so their white space separates words
  Values outside;  ///< such as the name of a folder: each stays within one word
};

/// `text` with its placeholders filled in. Throws ConfigError that begins with `where`.
std::string fill_in(const std::string& text, const Placeholders& values, const std::string& where);

/// The maximum number of steps or cells in a suite; more come from a mistake in a table.
struct SuiteLimit {
  std::size_t most;
  std::string_view what;
};
inline constexpr SuiteLimit step_limit{10'000, "steps"};
inline constexpr SuiteLimit cell_limit{100'000, "cells"};

/// All combinations of the rows of the `for` table of a step or cell, if it has one, each added to
/// `base`. More than the limit are refused before they fill the memory.
std::vector<Placeholders> combinations(const ConfigMap& step, const Placeholders& base,
                                       const SuiteLimit& limit);

/// A whole number that may contain placeholders. Throws ConfigError.
int read_count(const ConfigMap& map, std::string_view key, const Placeholders& values,
               IntegerRange range);

/// The words of a key; at least one. Throws ConfigError.
std::vector<std::string> read_words(const ConfigMap& map, std::string_view key,
                                    const Placeholders& values);

/// The words of the key `command`, which begins with one of the verbs. Throws ConfigError.
std::vector<std::string> read_command(const ConfigMap& map, const Placeholders& values,
                                      const std::vector<std::string>& verbs);

/// The optional key `tags`: words that select suites and cells, and may contain placeholders.
/// Throws ConfigError.
std::set<std::string> read_tags(const ConfigMap& map, const Placeholders& values);

/// Replaces the output folder by {out}, also where the data set lies in it. So a step stays the
/// same if the folder is renamed.
Placeholders without_folder(Placeholders values);

}  // namespace dlscale::suite
