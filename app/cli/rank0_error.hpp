#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::app {

/// The sentence on one line. Line breaks and other control characters become \n or \x1b.
std::string on_one_line(std::string_view sentence);

/// Prints an error on standard error: on one line, for programs; on a terminal in lines that break
/// between words. A command to type stays on one line, so that it can be copied.
void print_error(std::string_view sentence);

/// Whether this is rank 0 by the launcher's variables: Open MPI, PMI, PMIx, Slurm, jsrun, PALS and
/// Flux (see backend/comm/launch.cpp).
bool is_first_rank();

/// The message of an error, and the commands that carry out its remedies, if it has some.
std::string sentence_of(const Error& error);

/// Prints an error that all ranks of a launcher have found before they know of each other. Rank 0
/// prints it at once, and the launcher ends the others when rank 0 leaves. A rank that still runs
/// seconds later prints it too, since it may be the only one with this error. Without a launcher a
/// process is rank 0.
void print_on_rank0(std::string_view sentence);

/// Runs `work`, which does the same on all ranks. Returns the exit code of the Error that it threw,
/// after print_on_rank0() has printed it; nothing if it threw none.
std::optional<ExitCode> refusal(const std::function<void()>& work);

}  // namespace dlscale::app
