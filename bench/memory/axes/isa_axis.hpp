#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace dlscale::bench {

/// Throws ConfigError if --isa names neither an instruction set that a build for this kind of
/// processor knows nor one of `words`.
void check_isa(const std::string& isa, std::initializer_list<std::string_view> words);

}  // namespace dlscale::bench
