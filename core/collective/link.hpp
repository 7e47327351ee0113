#pragma once
#include "core/base/units.hpp"

namespace dlscale::collective {

/// The Hockney model of a link, plus the time to reduce one byte: a message of m bytes takes
/// alpha + m · beta, and m · gamma more if it is added to what the receiver holds.
struct Link {
  Seconds alpha;
  SecondsPerByte beta;
  SecondsPerByte gamma;
};

/// Links between ranks of different nodes and within one node. Where ranks of a node share one way
/// out, inter.beta is that of one of them while as many send as the algorithm lets (Outflow).
struct Links {
  Link inter;
  Link intra;
};

}  // namespace dlscale::collective
