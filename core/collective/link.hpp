#pragma once
#include "core/base/units.hpp"

namespace dlscale::collective {

/// The Hockney model of a link, plus the time to reduce one byte. A message of m bytes takes alpha
/// + m · beta, plus m · gamma if it is added to the receiver's data.
struct Link {
  Seconds alpha;
  SecondsPerByte beta;
  SecondsPerByte gamma;
};

/// Links between ranks of different nodes and within one node. If ranks of a node share an uplink,
/// inter.beta is the value per rank while as many send as the algorithm's Outflow allows.
struct Links {
  Link inter;
  Link intra;
};

}  // namespace dlscale::collective
