#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/table.hpp"

namespace dlscale::app {

/// ok: nothing to do. warning: measuring here tells less, or something will be in the way. missing:
/// a part that this machine or this build lacks. unavailable: it cannot be known here, and why.
enum class FindingState { ok, warning, missing, unavailable };
std::string_view state_name(FindingState state);

/// One thing that dlscale doctor looked at.
struct Finding {
  std::string name = {};  ///< "governor"
  FindingState state = FindingState::ok;
  std::string found = {};   ///< how it stands
  std::string advice = {};  ///< why it matters and what to do; empty where nothing is to be done
};

/// Findings of one kind.
struct FindingGroup {
  std::string name;  ///< "machine"
  std::vector<Finding> findings;
};

/// How many of all groups are in a state.
int count_of(const std::vector<FindingGroup>& groups, FindingState state);

/// Rows of all findings, and the advice of each that is not ok below them.
report::Document findings_document(const std::vector<FindingGroup>& groups);

}  // namespace dlscale::app
