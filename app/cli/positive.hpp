#pragma once

namespace CLI {
class Validator;
}

namespace dlscale::app {

/// A check for options that count or measure something: refuses what is not a finite number above
/// zero, in words ("--batch: -3 is no number above 0. …").
CLI::Validator positive();

/// The same for what is counted by an `int`: refuses fractions and what is too large for it, too.
CLI::Validator positive_count();

/// The same for times in seconds, up to the 1e9 (thirty years) that suites allow: a clock cannot
/// count to what is far above.
CLI::Validator positive_seconds();

/// A check for margins: a finite fraction from 0 to 10.
CLI::Validator margin_fraction();

/// A check for seeds, which are unsigned: the conversion alone would take -1 for 2^64 - 1, and for
/// a number that is too large the largest there is.
CLI::Validator seed();

}  // namespace dlscale::app
