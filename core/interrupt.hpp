#pragma once

namespace dlscale {

/// SIGINT and SIGTERM set a flag; long loops look at it between samples and throw Interrupted, so
/// that results reach the disk. A second signal ends the process at once.
void install_signal_handlers();
/// As if `signal` had come: for who takes it off the queue of blocked signals.
void remember_signal(int signal);
/// The signal that came, or 0.
int pending_signal();
/// Throws Interrupted if a signal came.
void throw_if_interrupted();

}  // namespace dlscale
