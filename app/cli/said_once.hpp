#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::app {

/// A sentence on one line, whatever it repeats: line breaks and other control characters are shown
/// as \n or \x1b.
std::string on_one_line(std::string_view sentence);

/// Says on standard error what all ranks that a launcher started have found alike, before they know
/// of each other: rank 0 at once. A launcher ends the others as soon as that one leaves; a rank
/// that is not ended within seconds says it, too, since it may be the only one with this to say.
/// Without a launcher a process is rank 0.
void say_for_all_ranks(std::string_view sentence);

/// Runs `work`, which does the same on all ranks. The exit code of the Error that it threw, which
/// say_for_all_ranks() has said; nothing if it threw none.
std::optional<ExitCode> refusal(const std::function<void()>& work);

}  // namespace dlscale::app
