#pragma once
#include <string>
#include <string_view>

namespace dlscale::app {

/// How many numbers an option takes.
enum class Numbers { one, several };

/// Advice on a number as other tools and languages write it: "2-256", "1 2 4", "32x8", "1k",
/// "1_000", "1,5", "8 GPUs". It is the end of a sentence that begins with the option; empty for any
/// other text.
std::string advice_on_number(std::string_view text, Numbers numbers);

}  // namespace dlscale::app
