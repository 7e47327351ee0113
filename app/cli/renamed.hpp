#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::app {

/// The words of a command line with today's names in place of those of the last release. Standard
/// error says each replacement once. Words behind "--" belong to another program and stay.
std::vector<std::string> with_current_names(std::vector<std::string> words);

/// Today's name of an option of a verb ("fresh" of "gate"), or of a verb if `verb` is empty.
/// Standard error says if it has changed.
std::string current_name(std::string_view verb, std::string_view name);

/// The value of an option ("--concurrent-with"), maybe a list with commas, with today's words.
/// Standard error says if one has changed.
std::string current_value(std::string_view option, const std::string& value);

/// Verbs of the last release that have another name today.
std::vector<std::string> old_verbs();

}  // namespace dlscale::app
