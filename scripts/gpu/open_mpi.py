"""Open MPI to take along: enough of it to start ranks on one node, found where it is unpacked."""

import pathlib
import re
import subprocess

from libraries import loaded_by

# Components that move data between nodes, by libraries that a single node does not need.
NETWORKS = re.compile(
    r"lib(ibverbs|rdmacm|fabric|psm\w*|infinipath|uc[pstm]|mca_common_(ofi|ucx|verbs))\.so"
)
# Of what is left: file input and output, one-sided memory and monitoring, which are not used.
UNUSED = re.compile(r"mca_(io|fs|fbtl|fcoll|sharedfp|memheap|scoll|spml|sshmem|atomic)_|monitoring")


class NoOpenMpiError(Exception):
    """There is none to take along; the message says why."""


def _paths(ompi_info):
    text = subprocess.run(
        [str(ompi_info), "--parsable", "--path", "all"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout
    return dict(re.findall(r"^path:(\w+):(/.*)$", text, re.MULTILINE))


def _components(folder):
    """The plugins that one node can use, with what they load."""
    plugins = [path for path in sorted(folder.glob("mca_*.so")) if not UNUSED.search(path.name)]
    return {
        plugin: loaded
        for plugin, loaded in loaded_by(plugins).items()
        if not any(NETWORKS.match(name) for name in loaded) and None not in loaded.values()
    }


def find(mpiexec):
    """Files to pack as (path in the pack → path here), and all libraries they load."""
    launcher = pathlib.Path(mpiexec).resolve() if mpiexec else None
    if launcher is None or not launcher.is_file():
        raise NoOpenMpiError("this build has no MPI")
    paths = (
        _paths(launcher.with_name("ompi_info")) if launcher.with_name("ompi_info").exists() else {}
    )
    if "pkglibdir" not in paths:
        raise NoOpenMpiError(f"{mpiexec} is not of Open MPI, or lacks ompi_info beside it")
    components = _components(pathlib.Path(paths["pkglibdir"]))
    orted = pathlib.Path(paths["bindir"]) / "orted"
    files = {"openmpi/bin/mpirun": launcher, "openmpi/bin/orted": orted}
    files |= {f"openmpi/lib/{plugin.name}": plugin for plugin in components}
    files |= {
        f"openmpi/share/{page.name}": page
        for page in sorted(pathlib.Path(paths["pkgdatadir"]).glob("help-*.txt"))
    }
    parameters = pathlib.Path(paths["sysconfdir"]) / "openmpi-mca-params.conf"
    if parameters.exists():
        files["openmpi/etc/openmpi-mca-params.conf"] = parameters
    loaded = {}
    for libraries in [*components.values(), *loaded_by([launcher, orted]).values()]:
        loaded |= libraries
    return files, loaded


def variables(root):
    """The environment in which the Open MPI below `root` finds its own files and starts ranks."""
    there = pathlib.Path(root) / "openmpi"
    return {
        "OPAL_PREFIX": str(there),
        "OPAL_BINDIR": str(there / "bin"),
        "OPAL_LIBDIR": str(there / "lib"),
        "OPAL_PKGLIBDIR": str(there / "lib"),
        "OPAL_DATADIR": str(there / "share"),
        "OPAL_PKGDATADIR": str(there / "share"),
        "OPAL_SYSCONFDIR": str(there / "etc"),
        "PMIX_INSTALL_PREFIX": str(there),
        "PMIX_MCA_pcompress_base_silence_warning": "1",  # nothing on one node needs compressing
        # Ranks bind themselves; root may start them (containers); no slots are counted.
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_odls_base_sigkill_timeout": "3",
        "OMPI_MCA_btl_base_warn_component_unused": "0",
        "OMPI_MCA_plm": "isolated",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
