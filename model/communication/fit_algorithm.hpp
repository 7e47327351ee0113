#pragma once
#include <optional>
#include <vector>

#include "model/communication/algorithm_fit.hpp"
#include "model/communication/message_family.hpp"

namespace dlscale::model {

/// Those that may explain the times of a family, the likeliest first: the algorithm asked for, if
/// its closed form is known; or
/// what the rules of its library say, where it is Open MPI or MPICH and their algorithms are known
/// for every sample, followed by all that are told by the layout and links alone, and by "no change
/// with ranks". Algorithms of two levels are among them where samples have several ranks on each of
/// several nodes.
std::vector<Carrier> contenders(const MessageFamily& family);

/// The contender whose closed form explains the samples best, each with both kinds of ranges, by
/// BIC. Where three numbers of ranks or more were measured over the same kind of link, only those
/// count that, fitted without the largest, predict it about as well as any (within a tenth of the
/// least median error): a formula with more to fit explains more and foresees less. Among those,
/// what the rules of the library choose stands unless another is better by a BIC of more than 10,
/// which counts as decisive [R. E. Kass & A. E. Raftery, J. Am. Stat. Assoc. 90 (1995) 773]. Of
/// Open MPI 4.1, whose rules these are, where no variable bears on its choice
/// (MessageFamily::by_defaults), they stand: that times of two numbers of ranks go together within
/// each, as those of ranks with and without a core of their own, is no evidence against them.
/// Where an algorithm is asked for or ruled, and its samples between nodes (on 64 ranks or fewer)
/// differ in the part of their bytes that travels both ways at once, χ of LinkTerms counts by
/// itself if RangesFit::bic_by_range is less by as much. Where rules choose and the sizes of a
/// layout travel by several algorithms, the layout gets its FormRatios. Samples of layouts with
/// fewer than 2 sizes are not used. Nothing if that leaves none, or if no closed form is known for
/// the rest.
std::optional<AlgorithmFit> fit_algorithm(const MessageFamily& family, SecondsPerByte gamma = {});

}  // namespace dlscale::model
