#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/settings_line.hpp"

namespace dlscale::app {

/// What this process was given by the environment or a settings file, like its command line one
/// thing for all of it: the options that count, none before set_in_effect(), which is called once,
/// before there are other threads.
void set_in_effect(std::span<const SetElsewhere> set);

/// The words that are in the command line by them, in order.
std::vector<std::string> words_in_effect();

/// A sentence about what is wrong, on one line whatever it repeats, which says of options in it, or
/// of their values, where they are set: "--rounds (set by DLSCALE_GATE_ROUNDS) 3 can decide nothing
/// …".
std::string with_places(std::string_view sentence, std::span<const SetElsewhere> set);
/// Of those in effect.
std::string with_places(std::string_view sentence);

}  // namespace dlscale::app
