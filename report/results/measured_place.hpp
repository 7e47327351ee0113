#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::report {

/// Where measurements were made, as far as their files say: the class of the machine, and ranks and
/// cores of the launch, by name; of files from several places all values. What joined the ranks, as
/// libraries and compilers, is no place: it may be what a comparison is about.
using MeasuredPlace = std::map<std::string, std::set<std::string>>;

void add_place(MeasuredPlace& place, const ResultHeader& header);

/// In what two places differ, of what both know: "cpu: X | Y".
std::vector<std::string> place_differences(const MeasuredPlace& a, const MeasuredPlace& b);

}  // namespace dlscale::report
