"""Creates a cluster, runs the command on it, and forwards signals to it."""

import os
import signal
import sys
import time

import namespaces
import network
import open_mpi

SI_KERNEL = 0x80  # code of a signal that a terminal sends to the process group
CANNOT_RUN = {FileNotFoundError: 127, PermissionError: 126}  # the shell's exit codes


def watched():
    """Signals that end a command, except those that the caller has set to be ignored."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return {s for s in ending if signal.getsignal(s) != signal.SIG_IGN} | {signal.SIGCHLD}


def reap(pid):
    """Reaps ended processes. Returns the status of `pid`, or None while it runs."""
    code = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if ended == 0:
            return code
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)


def wait_for(pid, signals, apart, alarm=None):
    """Forwards signals until `pid` ends; returns its exit code. `signals` are blocked. `apart`: the
    terminal does not send its signals to `pid`. `alarm`: a time and the action at that time."""
    while True:
        code = reap(pid)
        if code is not None:
            return code if code >= 0 else 128 - code
        left = None if alarm is None else max(0.0, alarm[0] - time.monotonic())
        info = signal.sigwaitinfo(signals) if left is None else signal.sigtimedwait(signals, left)
        if info is None:
            alarm[1]()
            alarm = None
        elif info.si_signo != signal.SIGCHLD and (apart or info.si_code != SI_KERNEL):
            os.kill(pid, info.si_signo)


def cut_off(host):
    network.cut_off(host)
    print(f"cluster: {host} is cut off", file=sys.stderr, flush=True)


def spawn(plan, mask):
    """Runs the command with the signal mask of this script's start."""
    try:
        return os.posix_spawnp(plan.command[0], plan.command, os.environ, setsigmask=mask)
    except OSError as error:
        print(
            f'cluster: "{plan.command[0]}" cannot be run ({error.strerror}). '
            "Name a program that is on the path.",
            file=sys.stderr,
        )
        sys.exit(CANNOT_RUN.get(type(error), 126))


def run_inside(plan, signals, mask):
    """The first process of the cluster: when it ends, all others do."""
    namespaces.settle()
    open_mpi.install(plan, network.make(plan))
    alarm = None
    if plan.down is not None:
        alarm = (time.monotonic() + plan.after, lambda: cut_off(plan.down))
    return wait_for(spawn(plan, mask), signals, apart=False, alarm=alarm)


def first_process(plan, signals, mask, apart, parent_lives):
    """Never returns, since code after fork() belongs to the parent."""
    code = 1
    try:
        namespaces.die_with_parent(parent_lives)
        if apart:
            os.setpgid(0, 0)
        code = run_inside(plan, signals, mask)
    except namespaces.Unavailable as error:
        print(f"cluster: {error}", file=sys.stderr)
        code = 6
    except SystemExit as error:
        code = error.code
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        sys.stderr.flush()
        os._exit(code)


def run(plan):
    """Runs the command and returns its exit code."""
    network.check_tools()
    if all(host.cores == plan.hosts[0].cores for host in plan.hosts[1:]) and len(plan.hosts) > 1:
        print(
            f"cluster: {len(plan.hosts)} hosts share {len(plan.hosts[0].cores)} cores, so they "
            "compute in turn.",
            file=sys.stderr,
        )
    # Without a terminal, signals reach this process or its whole group (as from `timeout`); the
    # command must get each of them once.
    apart = not os.isatty(0)
    signals = watched()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    parent_lives, alive = os.pipe()
    namespaces.leave_this_machine()
    pid = os.fork()
    if pid == 0:
        os.close(alive)
        first_process(plan, signals, mask, apart, parent_lives)
    os.close(parent_lives)
    return wait_for(pid, signals, apart)
