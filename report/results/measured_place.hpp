#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::report {

/// Place of measurements, as far as their files record it: the class of the machine, and ranks and
/// cores of the launch, by name. Files from several places contribute all values. Excludes
/// libraries, compilers and what joined the ranks, since a comparison may be about these.
using MeasuredPlace = std::map<std::string, std::set<std::string>>;

void add_place(MeasuredPlace& place, const ResultHeader& header);

/// Properties in which two places differ, if both know them: "cpu: X | Y".
std::vector<std::string> place_differences(const MeasuredPlace& a, const MeasuredPlace& b);

}  // namespace dlscale::report
