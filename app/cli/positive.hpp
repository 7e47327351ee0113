#pragma once

namespace CLI {
class Validator;
}

namespace dlscale::app {

/// A validator for options that count or measure something. It refuses anything but a finite number
/// above zero, with an explanation.
CLI::Validator positive();

/// The same for values that are held in an `int`: also refuses fractions and values that exceed it.
CLI::Validator positive_count();

/// The same for times in seconds, up to the 1e9 (thirty years) that suites allow. A clock cannot
/// count far beyond that.
CLI::Validator positive_seconds();

/// A validator for margins: a finite fraction from 0 to 10.
CLI::Validator margin_fraction();

/// A validator for seeds, which are unsigned. The conversion alone would read -1 as 2^64 - 1, and a
/// number that is too large as the maximum.
CLI::Validator seed();

}  // namespace dlscale::app
