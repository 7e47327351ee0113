#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace dlscale::bench {

/// Throws ConfigError unless --isa is one of `words` or an instruction set that a build for this
/// kind of processor supports.
void check_isa(const std::string& isa, std::initializer_list<std::string_view> words);

}  // namespace dlscale::bench
