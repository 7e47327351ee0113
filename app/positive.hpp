#pragma once

namespace CLI {
class Validator;
}

namespace dlscale::app {

/// A check for options that count or measure something: refuses what is not a finite number above
/// zero, in words ("--batch: -3 is no number above 0. …").
CLI::Validator positive();

}  // namespace dlscale::app
