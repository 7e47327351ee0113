#pragma once
#include "suite/definition/suite.hpp"

namespace dlscale::suite {

/// Commands of a program whose benchmarks take all options that a suite may add.
inline const Commands test_commands{
    .verbs = {"bench", "calibrate", "data", "gate", "info", "predict", "report", "validate"},
    .formats = {"csv", "json"},
    .takes = [](auto, auto) { return true; }};

}  // namespace dlscale::suite
