#pragma once
#include <optional>
#include <vector>

#include "model/communication/algorithm_fit.hpp"
#include "model/communication/message_family.hpp"

namespace dlscale::model {

/// Candidate explanations of a family's times, the likeliest first. The algorithm asked for, if its
/// closed form is known. Else the rules of the library, if it is Open MPI or MPICH and its
/// algorithms are known for every sample; then all that depend on layout and links alone, and "no
/// change with ranks". Algorithms of two levels are included where samples have several ranks on
/// each of several nodes.
std::vector<Carrier> contenders(const MessageFamily& family);

/// Fits the contender whose closed form explains the samples best by BIC, each with both kinds of
/// ranges. If three numbers of ranks or more were measured over the same kind of link, contenders
/// must predict the largest from the others. Their median error may exceed the least by a tenth: a
/// formula with more parameters explains more and predicts less. Among those, the rules of the
/// library stand unless another is better by a BIC of more than 10, which counts as decisive [R. E.
/// Kass & A. E. Raftery, J. Am. Stat. Assoc. 90 (1995) 773]. Open MPI 4.1, the source of these
/// rules, keeps them where no variable affects its choice (MessageFamily::by_defaults). Times of
/// two numbers of ranks that cluster, as those with and without a core of their own do, are not
/// evidence against them. χ of LinkTerms becomes a parameter if it lowers RangesFit::bic_by_range
/// by as much. This needs an algorithm asked for or ruled, on 64 ranks or fewer. Its samples
/// between nodes must differ in the part of their bytes that travels both ways at once. A layout
/// whose sizes travel by several algorithms under rules gets its FormRatios. Layouts with fewer
/// than 2 sizes are not used. Empty if that leaves none, or if no closed form is known for the
/// rest.
std::optional<AlgorithmFit> fit_algorithm(const MessageFamily& family, SecondsPerByte gamma = {});

}  // namespace dlscale::model
