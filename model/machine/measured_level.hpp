#pragma once
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/run/run.hpp"

namespace dlscale::model {

/// An iteration of a training that was measured on the cluster.
struct MeasuredPoint {
  int ranks = 1;
  int batch = 1;  ///< of a rank
  Seconds iteration;
};

/// How measured iterations of a training differ from the model by data sheets. On n ranks,
///   t = l(n) T_n(c, a p(n)) + w(n)
/// where T_n is the model's time, c scales its computing, and a p scales what several ranks add:
/// messages, copies and waiting. Input that bounds a point is moved within its interval first. p ≤
/// 1 and l are 1 if the points agree with the model; they are exact at each point, and their
/// logarithms are linear in ln n between points and from 0 at n = 1, and constant beyond them.
/// Links of another kind have been measured by no point: on several nodes, if all points are on
/// one, a, p and l are 1, and w is what the largest point took longer than T_n(c, 1); on one node,
/// if all points of several ranks are on several, w is 0. Else w is 0. [D, derived;
/// measured_level() finds them]
struct MeasuredLevel {
  /// The rest at a measured number of ranks, in logarithms.
  struct Rest {
    int ranks = 1;
    int batch = 1;           ///< of a rank
    double added = 0;        ///< ln p ≤ 0
    double left = 0;         ///< ln l
    Seconds iteration = {};  ///< > 0, as measured
  };
  /// The factors on some number of ranks.
  struct Factors {
    double computing = 1;
    double added = 1;
    double left = 1;    ///< on the iteration as a whole
    Seconds wait = {};  ///< after messages
  };

  double computing = 1;       ///< c > 0
  double added = 1;           ///< a > 0
  double loading = 1;         ///< > 0, of the time of input: within its interval, where it bounds
  std::vector<Rest> rest;     ///< ≥ 1, by ascending ranks
  double miss = 0;            ///< the largest |ln(measured / T(c, a))| of the points
  Seconds in_node;            ///< w of several nodes, ≥ 0
  Run run;                    ///< as measured, without its ranks
  bool other_device = false;  ///< whether the machine has another device than the measured one
  bool other_links = false;   ///< likewise, other links or another all-reduce
  std::string doubt;          ///< why the points are to be checked, a sentence; empty: they agree

  [[nodiscard]] Factors at(int ranks) const;
  /// Whether messages between so many ranks cross links that no point measured.
  [[nodiscard]] bool is_elsewhere(int ranks) const;
  /// The point with most of at most `ranks`, or else the smallest: a fit has seen that direction.
  [[nodiscard]] const Rest& given(int ranks) const;
  /// |lg| of the ratio of `ranks` to the nearest number of ranks of a point, at most 1.
  [[nodiscard]] double distance(int ranks) const;
};

}  // namespace dlscale::model
